/**
 * Slow and hostile clients leave the edge serving others: one well-behaved client sends requests without pause all the
 * while, and is served every time.
 */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { formatKey, randomBase62 } from '@gateway/contracts/api-key'
import { openCrowd, sendBytes, type Crowd } from '@gateway/testing/raw-http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyCases } from './hostile/bodies.ts'
import { framingCases, KEY_PLACEHOLDER } from './hostile/framing.ts'
import { startHealthyClient, type HealthyClient } from './hostile/healthy-client.ts'
import {
  userMessages,
  configFor,
  type Gateway,
  newDeveloper,
  send,
  sendRaw,
  startBackends,
} from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const CHAT = '/v1/chat/completions'
const ALLOWED_ORIGIN = 'https://app.example'
/** Headers are waited for 20 s, looked at every 5 s. */
const SLOW_HEADERS_MS = 26_000
/** The edge may be busy with all the others. */
const CLOSED_WITHIN_MS = 20_000

const stack = new AsyncDisposableStack()
let gateway: Gateway
let url: string
let port: number
let key: string
let healthy: HealthyClient
let silent: Crowd
let slowHeaders: Crowd

beforeAll(async () => {
  const backends = await startBackends(stack)
  const standalone = stack.use(
    await startStandalone({
      config: configFor(backends, { requestsPerMinute: 1_000_000 }),
      environment: { CORS_ORIGINS: ALLOWED_ORIGIN },
    }),
  )
  gateway = { urls: [standalone.url], issuer: standalone.issuer, backends }
  url = standalone.url
  port = Number(new URL(url).port)
  key = (await newDeveloper(gateway)).key
  healthy = startHealthyClient(url, await newDeveloper(gateway))
  stack.defer(() => healthy.stop())
  silent = stack.use(await openCrowd(port, 300, {}))
  slowHeaders = stack.use(
    await openCrowd(port, 300, { first: `POST ${CHAT} HTTP/1.1\r\n`, every: (turn) => `x${turn}: a\r\n` }),
  )
  const body = (authorization: string) =>
    `POST ${CHAT} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${authorization}\r\nContent-Type: application/json\r\n`
  // A known key may take its time with a body; two minutes, to be precise.
  const announced = `${body(key)}Content-Length: 100000\r\n\r\n`
  stack.use(await openCrowd(port, 200, { first: announced, every: () => '{' }))
  stack.use(
    await openCrowd(port, 100, { first: `${body(key)}Transfer-Encoding: chunked\r\n\r\n`, every: () => '1\r\n \r\n' }),
  )
  // Responses that nobody reads.
  const question = JSON.stringify({
    model: 'svc-core',
    stream: true,
    messages: userMessages(`Say: ${'word '.repeat(20_000)}`),
  })
  const unread = `${body(key)}Content-Length: ${question.length}\r\n\r\n${question}`
  stack.use(await openCrowd(port, 20, { first: unread, read: false }))
})
afterAll(() => stack.disposeAsync())

const { refused, served } = framingCases()
const withKey = (bytes: Buffer) => bytes.toString('latin1').replaceAll(KEY_PLACEHOLDER, key)

describe('a request that could be read in more than one way is refused, and its connection closed:', () => {
  test.each(refused)('$name', async ({ bytes }) => {
    const { responses, closed, text } = await sendBytes(port, withKey(bytes), CLOSED_WITHIN_MS)
    expect(closed).toBe(true)
    // The edge would have served a hidden second request, too.
    expect(responses.length).toBeLessThanOrEqual(1)
    for (const { status } of responses) expect([400, 413, 417, 431]).toContain(status)
    expect(text).not.toContain('hidden')
  })
})

describe('a request of unusual form has one response:', () => {
  test.each(served)('$name', async ({ bytes }) => {
    const { responses } = await sendBytes(port, withKey(bytes))
    expect(responses.map(({ status }) => status).filter((status) => status !== 100)).toEqual([200])
  })
})

describe('a body is accepted or refused on its own merits:', () => {
  test.each(bodyCases)('$name: $status', async ({ body, headers, status }) => {
    const reply = await fetch(url + CHAT, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
      body: body as string,
    })
    const text = await reply.text()
    expect({ status: reply.status, text }).toEqual({ status, text: expect.any(String) })
    expect(text).not.toContain('INTERNAL_ERROR')
  })

  test('none of the attempts has become part of the gateway', async () => {
    const { body } = await send(url, '/v1/models')
    const [entry] = body['data'] as object[]
    expect(Object.keys(entry!)).toEqual(['id', 'object', 'created', 'owned_by'])
    const seen = gateway.backends.steadyA.calls.map((call) => JSON.stringify(call.body))
    expect(seen.filter((text) => text.includes('"max_tokens":"x"'))).toEqual([])
  })
})

describe('nobody can make the edge read megabytes without a key that lives:', () => {
  const forged = () => {
    const random = (length: number) => randomBase62(length, randomBytes)
    return formatKey({ keyId: random(8), accountTag: random(8), secret: random(32) })
  }
  const head = (path: string, ...lines: string[]) =>
    [`POST ${path} HTTP/1.1`, 'Host: gateway', 'Content-Type: application/json', ...lines].join('\r\n') + '\r\n\r\n'

  test.each([
    ['announced', 'Content-Length: 20000000'],
    ['in chunks', 'Transfer-Encoding: chunked'],
    ['packed', 'Content-Length: 100\r\nContent-Encoding: gzip'],
  ])('one that is made up is refused before the body comes, %s', async (_, line) => {
    const { responses } = await sendBytes(port, head(CHAT, `Authorization: Bearer ${forged()}`, line))
    expect(responses).toMatchObject([{ status: 401, body: expect.stringContaining('INVALID_KEY') }])
  })

  test('and where none is needed, bodies are small', async () => {
    const body = JSON.stringify({ device_id: 'x'.repeat(100_000) })
    const { responses } = await sendBytes(port, head('/v1/keys/guest', `Content-Length: ${body.length}`) + body)
    expect(responses).toMatchObject([{ status: 413, body: expect.stringContaining('64 KB') }])
  })
})

describe('a path is itself and nothing else:', () => {
  test.each([
    '//v1/models',
    '/v1//models',
    '/%76%31/models',
    '/v1/%6dodels',
    '/v1/models;x=1',
    '/v1/models;/../catalog',
    '/V1/Models',
    '/v1/./models',
    '/v1/x/../models',
    '/v1/models/%2e%2e/catalog',
    '/v1/models%00',
    '/v1/models/%00',
    '/v1/models/%ff',
    '/v1/models/..%5c..%5c',
    '/v1/../../../../etc/passwd',
    '/console/..%2f..%2f..%2fpackage.json',
    '/console/%2e%2e/%2e%2e/%2e%2e/package.json',
    '/console/..\\..\\..\\package.json',
    '/.git/config',
    '/.env',
    '/metrics',
    '/readyz',
  ])('%s is not found', async (path) => {
    const { responses } = await sendBytes(port, `GET ${path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n`)
    expect(responses.map(({ status }) => status)).toEqual([404])
  })

  test.each(['TRACE', 'PUT', 'DELETE', 'PROPFIND'])('%s is no way in', async (method) => {
    const { responses } = await sendBytes(
      port,
      `${method} /v1/models HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n`,
    )
    expect(responses.map(({ status }) => status)).toEqual([405])
  })

  test("the console's addresses lead to its page, if to anything", async () => {
    for (const path of ['/console//etc/passwd', '/console/%2e%2e/%2e%2e/etc/passwd', '/console/..%2fetc%2fpasswd']) {
      const { text } = await sendBytes(port, `GET ${path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n`)
      expect(text).toMatch(/^HTTP\/1\.1 (404|200[^]*<!doctype html>)/i)
      expect(text).not.toContain('root:')
    }
  })

  test('a proxy for others it is not', async () => {
    const { responses } = await sendBytes(port, 'CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example\r\n\r\n')
    expect(responses).toEqual([])
  })
})

test("a client's claims about its host or its proxy appear in no response", async () => {
  const lies = [
    'Host: evil.example',
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: gopher',
    'Forwarded: host=evil.example',
  ]
  const sendRequest = (target: string, ...lines: string[]) =>
    sendBytes(port, [`${target} HTTP/1.1`, ...lies, 'Connection: close', ...lines].join('\r\n') + '\r\n\r\n')
  const texts = await Promise.all([
    sendRequest('GET /v1/models'),
    sendRequest('GET /console'),
    sendRequest('GET /nothing'),
    sendRequest(`POST ${CHAT}`, 'Content-Type: application/json', 'Content-Length: 2'),
    sendRequest('GET /billing/quota', `Authorization: Bearer ${key}`),
  ])
  for (const { responses, text } of texts) {
    expect(responses).toHaveLength(1)
    expect(text).not.toMatch(/evil|gopher/)
  }
})

describe('pages of other origins', () => {
  const preflight = (origin: string) =>
    sendRaw(url, CHAT, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })

  test.each([
    'https://evil.example',
    'null',
    'https://app.example.evil.example',
    'http://app.example',
    'https://app.example:8443',
    'https://evil.example?https://app.example',
  ])('such as %s may not call', async (origin) => {
    for (const reply of [await preflight(origin), await sendRaw(url, '/v1/models', { headers: { origin } })]) {
      const allowed = reply.headers.get('access-control-allow-origin')
      expect([null, ALLOWED_ORIGIN]).toContain(allowed)
      expect(allowed).not.toBe(origin)
      expect(reply.headers.get('access-control-allow-credentials')).toBeNull()
    }
  })

  test('that were named may', async () => {
    expect((await preflight(ALLOWED_ORIGIN)).headers.get('access-control-allow-origin')).toBe(ALLOWED_ORIGIN)
  })
})

test('a page that has its own name lead to this machine mints no guest key, and a client by another name does', async () => {
  const body = JSON.stringify({ device_id: 'rebound' })
  const mint = (...lines: string[]) =>
    sendBytes(
      port,
      ['POST /v1/keys/guest HTTP/1.1', ...lines, 'Content-Type: application/json', `Content-Length: ${body.length}`]
        .join('\r\n')
        .concat('\r\n\r\n', body),
    )
  const page = await mint(`Host: evil.example:${port}`, `Origin: http://evil.example:${port}`)
  expect(page.responses).toMatchObject([{ status: 400, body: expect.stringContaining('PUBLIC_BASE_URL') }])
  expect(page.text).not.toContain('evil')
  const client = await mint(`Host: gateway.lan:${port}`)
  expect(client.responses).toMatchObject([{ status: 200 }])
})

test('addresses of images lead the gateway nowhere but to the backend that returned one', async () => {
  const visited: string[] = []
  const elsewhere = createServer((request, response) => {
    visited.push(request.url ?? '')
    response.end('secret')
  }).listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  stack.defer(async () => {
    elsewhere.close()
    elsewhere.closeAllConnections()
  })
  const { port: otherPort } = elsewhere.address() as AddressInfo
  const image = (address: string) => ({ type: 'image_url', image_url: { url: address } })
  const targets = [`http://127.0.0.1:${otherPort}/`, `http://[::ffff:127.0.0.1]:${otherPort}/`, 'file:///etc/passwd']
  for (const target of targets) {
    const content = [{ type: 'text', text: 'Say: hi' }, image(target)]
    await send(url, CHAT, { key, body: { model: 'svc-vision', messages: [{ role: 'user', content }] } })
    const reply = JSON.stringify({ created: 1, data: [{ url: target }] })
    for (const backend of [gateway.backends.steadyA, gateway.backends.steadyB])
      backend.fail({ endpoint: 'images', status: 200, body: reply, times: 3 })
    const { status } = await send(url, '/v1/images/generations', { key, body: { model: 'svc-image', prompt: 'a cat' } })
    expect(status).toBe(503)
    for (const backend of [gateway.backends.steadyA, gateway.backends.steadyB]) await backend.heal()
  }
  expect(visited).toEqual([])
})

test('a thousand requests in one breath are served one by one', async () => {
  const one = 'GET /v1/models/svc-core HTTP/1.1\r\nHost: gateway\r\n\r\n'
  const { responses } = await sendBytes(port, one.repeat(1_000), 5_000)
  expect(responses).toHaveLength(1_000)
})

test('those that are slow with their headers, or say nothing, are let go', async () => {
  await expect
    .poll(() => silent.alive + slowHeaders.alive, { timeout: SLOW_HEADERS_MS + 10_000, interval: 250 })
    .toBe(0)
  for (const crowd of [silent, slowHeaders]) expect(crowd.longestMs).toBeLessThan(SLOW_HEADERS_MS + 6_000)
})

test('all the while, the well-behaved client was served', async () => {
  await healthy.stop()
  expect(healthy.troubles).toEqual([])
  expect(healthy.served).toBeGreaterThan(100)
  expect(healthy.longestMs).toBeLessThan(5_000)
})
