import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMetrics } from '@gateway/telemetry/metrics'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { edgeMetrics } from '../metrics.ts'
import { clientNetwork } from './client-network.ts'
import { LEAST_BYTES_IN_FLIGHT, trackBytesInFlight } from './memory-budget.ts'
import { prepareRefusal } from './refusal.ts'
import { sendError } from './send-error.ts'
import { beginRequest, type Step, takeSteps } from './take-steps.ts'

const ERROR = { code: 'SERVICE_UNAVAILABLE', message: 'Too much at once; try again — shortly' } as const
const edge = {
  settings: { docsUrl: 'https://docs.example', topupUrl: 'https://topup.example' },
  config: { current: {} },
  metrics: edgeMetrics(createMetrics({ service: 'edge' })),
  tracer: NO_TRACING,
  bytes: trackBytesInFlight(LEAST_BYTES_IN_FLIGHT, clientNetwork(false), () => {}),
}
const prepared = prepareRefusal(ERROR, edge)
const waitOf = (headers: NodeJS.Dict<string | string[]>) => Number(headers['x-wait'])
const refusePrepared: Step = (request, response) => prepared(request, response, waitOf(request.headers))
const refuseRendered: Step = (request, response) =>
  sendError(edge, { ...ERROR, details: { retryAfterMs: waitOf(request.headers) } }, request, response)

const fail = (error: unknown) => {
  throw error
}
const serve = (refuse: Step) => createServer(takeSteps('/', [beginRequest(edge), refuse], fail))
const servers = [serve(refusePrepared), serve(refuseRendered)]
beforeAll(async () => {
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections()
})

const path = fc.constantFrom(
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens?beta=true',
  '/v1/embeddings',
  '/v1/quote?dialect=messages',
  '/v1/models',
  '/',
)
const client = fc.record(
  {
    'anthropic-version': fc.constant('2023-06-01'),
    'x-stainless-lang': fc.constant('python'),
    'user-agent': fc.constantFrom('openai/3.1', 'curl/8', 'ai/6.0.326 ai-sdk/provider-utils/4'),
  },
  { requiredKeys: [] },
)

/** The response without the parts that differ between any two. */
async function responseOf(server: (typeof servers)[number], path: string, headers: Record<string, string>) {
  const { port } = server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
  const id = response.headers.get('x-request-id')!
  const lines = [...response.headers].filter(([name]) => name !== 'date')
  const text = `${JSON.stringify(lines)} ${await response.text()}`
  return { status: response.status, text: text.replaceAll(id, 'the id') }
}

test('a refusal that was written beforehand reads as any other error does, for every client and path', async () => {
  await fc.assert(
    fc.asyncProperty(path, client, fc.nat(100_000), async (path, client, waitMs) => {
      const headers = { ...client, 'x-wait': String(waitMs) }
      const [ready, rendered] = await Promise.all(servers.map((server) => responseOf(server, path, headers)))
      expect(ready).toEqual(rendered)
    }),
    { numRuns: 200 },
  )
})
