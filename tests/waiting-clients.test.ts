/**
 * A client that waits reads its own timeout as its own, and gets a target's advice when to come back. This holds in
 * each dialect, through the whole chain on real servers.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster } from '@gateway/cluster/start'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newDeveloper } from './promises/gateway.ts'

const stack = new AsyncDisposableStack()
let url: string
let key: string
let reply: (response: ServerResponse) => void

beforeAll(async () => {
  const server = createServer((request, response) => {
    request.resume()
    if (request.method === 'GET') response.end('{"data":[]}')
    else reply(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-waiting-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const config = join(dataDir, 'gateway.yaml')
  const backend = { id: 'gpu', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
  const targets = [{ backend: 'gpu', model: 'm' }]
  await writeFile(config, JSON.stringify({ backends: [backend], pools: [{ id: 'nova', targets }] }))
  const cluster = await startCluster({ edges: 1, routers: 1, dataDir, environment: { GATEWAY_CONFIG: config } })
  stack.use(cluster)
  url = cluster.edges[0]!
  ;({ key } = await newDeveloper({ urls: [url], issuer: cluster.issuer }))
})
afterAll(() => stack.disposeAsync())

const DIALECTS: [string, object][] = [
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['/v1/responses', { input: 'Hi' }],
  ['/v1/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 20 }],
]

function sendRequest(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'svc-core', ...body }),
  })
}

async function usedSoFar(): Promise<number> {
  const response = await fetch(`${url}/billing/quota`, { headers: { authorization: `Bearer ${key}` } })
  return ((await response.json()) as { used: number }).used
}

describe.each(DIALECTS)('POST %s', (path, body) => {
  test.each([false, true])(
    'a client whose own timeout is over gets an error that says so, and pays for the work (stream: %s)',
    async (stream) => {
      reply = () => {}
      const before = await usedSoFar()
      const response = await sendRequest(path, { ...body, stream }, { 'x-stainless-timeout': '1' })
      expect(response.status).toBe(408)
      const { error } = (await response.json()) as { error: { code: string; message: string } }
      expect(error.code).toBe('CLIENT_TIMEOUT')
      expect(error.message).toMatch(/own timeout/)
      await expect.poll(usedSoFar, { timeout: 30_000, interval: 1_100 }).toBeGreaterThan(before)
    },
  )

  test('a target that demands a pause is heard: the client knows when to come back', async () => {
    reply = (response) => response.writeHead(429, { 'retry-after': '30' }).end('{}')
    const response = await sendRequest(path, body)
    expect(response.status).toBe(503)
    const waitMs = Number(response.headers.get('retry-after-ms'))
    expect(waitMs).toBeGreaterThan(20_000)
    expect(waitMs).toBeLessThanOrEqual(30_000)
    expect(response.headers.get('retry-after')).toBe(String(Math.ceil(waitMs / 1_000)))
  })
})

test('the backend of clients that were in a hurry serves the next one', async () => {
  reply = (response) => response.end(JSON.stringify({ choices: [{ message: { content: 'Hello' } }] }))
  await expect.poll(async () => (await sendRequest(...DIALECTS[0]!)).status, { timeout: 40_000 }).toBe(200)
})
