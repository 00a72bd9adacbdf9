/**
 * Backends behind an egress proxy: the proxy is real, and everything else is as without one.
 */

import { createServer, request as sendRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { goodChat } from './http-backend.ts'
import { backend, closing, router, SOON } from './open.ts'
import { poolOver } from './router-under-test.ts'

interface Proxy extends AsyncDisposable {
  url: string
  /** The request lines that it got, with their senders. */
  requested: string[]
  /** It responds to CONNECT with this; never without one. */
  connectStatus: number | null
}

/** Names that no resolver knows, so that nothing comes to them but by the proxy. */
async function startProxy(portOf: Record<string, string>): Promise<Proxy> {
  const server = createServer((incoming, outgoing) => {
    note(incoming)
    const { hostname, pathname } = new URL(incoming.url!)
    const { method, headers } = incoming
    const onward = sendRequest(
      { host: '127.0.0.1', port: portOf[hostname], path: pathname, method, headers },
      (reply) => {
        outgoing.writeHead(reply.statusCode!, reply.headers)
        reply.pipe(outgoing)
      },
    )
    incoming.pipe(onward)
  })
  server.on('connect', (incoming: IncomingMessage, socket) => {
    note(incoming)
    if (proxy.connectStatus !== null) socket.end(`HTTP/1.1 ${proxy.connectStatus} No\r\n\r\n`)
  })
  const note = ({ method, url, headers }: IncomingMessage) =>
    proxy.requested.push([method, url, headers['proxy-authorization']].filter(Boolean).join(' '))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy: Proxy = {
    url: `http://us:er@127.0.0.1:${(server.address() as AddressInfo).port}`,
    requested: [],
    connectStatus: null,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
  return closing(proxy)
}

const SOON_LEFT = { timeouts: { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000 } }
const AUTHORIZATION = `Basic ${Buffer.from('us:er').toString('base64')}`

test.each([false, true])('a backend of an http address is called by the proxy, streamed: %s', async (stream) => {
  const a = await backend(goodChat)
  const proxy = await startProxy({ 'backend.invalid': new URL(a.url).port })
  const under = await router(poolOver(['http://backend.invalid/v1']), { HTTP_PROXY: proxy.url })
  const job = await under.sendRequest({ stream })
  expect(job.failure).toBeNull()
  expect(job.end?.attempts).toMatchObject([{ outcome: 'served' }])
  expect(a.seen[0]?.headers.host).toBe('backend.invalid')
  expect(a.seen[0]?.headers['proxy-authorization'] ?? AUTHORIZATION).toBe(AUTHORIZATION)
  expect(proxy.requested).toEqual([`POST http://backend.invalid/v1/chat/completions ${AUTHORIZATION}`])
})

test.each([403, null])(
  'a backend of an https address behind a proxy that responds with %s is one that has no connection',
  async (connectStatus) => {
    const b = await backend(goodChat)
    const proxy = await startProxy({})
    proxy.connectStatus = connectStatus
    const under = await router(poolOver(['https://backend.invalid/v1', b.url], { backends: [SOON_LEFT, {}] }), {
      HTTPS_PROXY: proxy.url,
    })
    const job = await under.sendRequest()
    expect(proxy.requested).toEqual([`CONNECT backend.invalid:443 ${AUTHORIZATION}`])
    expect(job.end?.attempts).toMatchObject([
      { backend: 'a', outcome: expect.stringMatching(/^connect/) },
      { backend: 'b', outcome: 'served' },
    ])
  },
)

test('a place at a backend behind a hanging proxy is free again', async () => {
  const proxy = await startProxy({})
  const config = poolOver(['https://backend.invalid/v1'], { backend: { maxConcurrent: 1, ...SOON_LEFT } })
  const under = await router(config, { HTTPS_PROXY: proxy.url })
  const first = await under.sendRequest({ remainingMs: 1_500 })
  expect(first.failure?.code).toBe('UPSTREAMS_EXHAUSTED')
  await expect
    .poll(async () => (await under.sendRequest({ remainingMs: 4_000 })).failure?.attempts.length, SOON)
    .toBeGreaterThan(0)
})

test('a host of NO_PROXY is called straight', async () => {
  const a = await backend(goodChat)
  const proxy = await startProxy({})
  const under = await router(poolOver([a.url.replace('127.0.0.1', 'localhost')]), { HTTP_PROXY: proxy.url })
  expect((await under.sendRequest()).failure).toBeNull()
  expect(proxy.requested).toEqual([])
})
