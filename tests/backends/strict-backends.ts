/**
 * Each vendor's strict stand-in with the simulated backend behind it. The stand-in judges a request, and the simulated
 * backend serves the accepted ones, tools and JSON schemas included. Anthropic's stand-in responds itself.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Vendor } from '@gateway/contracts/vendors'
import { startBackend } from '@gateway/stand-ins/backend'
import { sendJson, startHttpBackend, type Reply } from '../../services/router/test/http-backend.ts'
import { VENDOR_TABLE } from '../../services/router/test/vendors/capabilities.ts'
import type { VendorRow } from '../../services/router/test/vendors/fixture.ts'
import { violationOf } from '../../services/router/test/vendors/schemas.ts'
import { KEY, TOKEN } from '../../services/router/test/vendors/stand-in-credentials.ts'
import { refusalOf, STAND_INS, type StandIn } from '../../services/router/test/vendors/stand-ins.ts'

type RequestKind = 'chat' | 'stream' | 'tools' | 'structured output' | 'embeddings'

export interface StrictBackend {
  vendor: Vendor
  /** Of the backend, its pool and its model. */
  id: string
  url: string
  model: string
  apiKey: string
  requests: readonly RequestKind[]
}

const OF_CHAT: readonly RequestKind[] = ['chat', 'stream', 'tools', 'structured output']

export async function startStrictBackends(stack: AsyncDisposableStack): Promise<StrictBackend[]> {
  const simulated = stack.use(await startBackend())
  return Promise.all(
    Object.entries(STAND_INS).map(async ([name, standIn]) => {
      const vendor = name as Vendor
      const judge = stack.use(await startHttpBackend(judgmentOf(vendor, standIn)))
      const speaksOwnDialect = vendor === 'anthropic'
      const origin = new URL(judge.url).origin
      const url = speaksOwnDialect ? origin : await judgedBy(origin, simulated.url, standIn.base, stack)
      return {
        vendor,
        id: vendor.replace('.', '-'),
        url: url + standIn.base,
        model: standIn.model,
        apiKey: vendor === 'vertex' ? TOKEN : KEY,
        requests: requestsOf(VENDOR_TABLE[vendor].but),
      }
    }),
  )
}

/** Leaves out the requests that the vendor cannot serve. */
function requestsOf({ embeddings, ...but }: VendorRow['but']): RequestKind[] {
  const isRefused = but['response_format json_schema'] === 'refused and said'
  const ofChat = OF_CHAT.filter((kind) => kind !== 'structured output' || !isRefused)
  return embeddings === 'no' ? ofChat : [...ofChat, 'embeddings']
}

/** Bedrock's signature is held to in `services/router/test/vendors`; here its key is a static one. */
function judgmentOf(vendor: Vendor, { complaint, reply, ignores }: StandIn): Reply {
  return (response, request, socket) => {
    const bad = vendor === 'bedrock' ? null : complaint(request)
    const { status, body } = refusalOf(vendor)
    if (bad !== null) return sendJson(response, status, body as object)
    const violation = violationOf(vendor, request.path, request.body)
    if (violation !== null) return sendJson(response, 400, { error: { message: violation } })
    if (request.path.endsWith('/embeddings')) return sendJson(response, 200, {})
    const ignored = ignores.find((name) => name in request.body)
    if (ignored)
      return sendJson(response, 400, { error: { message: `${ignored} must not arrive: it would be ignored` } })
    return reply(response, request, socket)
  }
}

/** Returns the refusal of the judge, or else the response of the simulated backend. */
async function judgedBy(
  judge: string,
  simulatedUrl: string,
  base: string,
  stack: AsyncDisposableStack,
): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const body = request.method === 'POST' ? await buffer(request) : null
      const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      for (const name of ['host', 'connection', 'content-length', 'expect', 'transfer-encoding']) headers.delete(name)
      const send = (url: string) => fetch(url, { method: request.method!, headers, body })
      const judged = await send(judge + request.url)
      const words = await judged.arrayBuffer()
      const given = judged.ok ? await send(simulatedUrl + request.url!.slice(base.length)) : null
      const type = (given ?? judged).headers.get('content-type') ?? 'application/json'
      response.writeHead((given ?? judged).status, { 'content-type': type })
      for await (const bytes of given?.body ?? [Buffer.from(words)]) response.write(bytes)
      response.end()
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack.defer(() => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
