/**
 * Nobody fills an edge's memory with bodies that never end. The edge bounds the bytes under way, and refuses a client
 * that exceeds the bound at once. A well-behaved client is served all the while.
 */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { formatKey, randomBase62 } from '@gateway/contracts/api-key'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { parseMetrics, sumOf } from '@gateway/cluster/scrape'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startHealthyClient, type HealthyClient } from './hostile/healthy-client.ts'
import { configFor, newDeveloper, newGuest, send, startBackends, type Gateway } from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const CHAT = '/v1/chat/completions'
const MEGABYTE = 1024 * 1024
const LARGEST_BODY = 25 * MEGABYTE
/** The growth that one budget of 64 MB may cause, with the garbage that the collector has not yet freed. */
const MOST_GROWTH = 400 * MEGABYTE
const BODY_START = '{"model":"svc-core","messages":[{"role":"user","content":"'

const stack = new AsyncDisposableStack()
let gateway: Gateway
let url: string
let port: number
let healthPort: number
let healthy: HealthyClient

beforeAll(async () => {
  const backends = await startBackends(stack)
  healthPort = await freePort()
  const standalone = stack.use(
    await startStandalone({
      config: configFor(backends, { requestsPerMinute: 1_000_000 }),
      environment: { HEALTH_PORT: String(healthPort), BYTES_IN_FLIGHT_MAX: String(64 * MEGABYTE) },
    }),
  )
  url = standalone.url
  port = Number(new URL(url).port)
  gateway = { urls: [url], issuer: standalone.issuer, backends }
  healthy = startHealthyClient(url, await newDeveloper(gateway))
  stack.defer(() => healthy.stop())
})
afterAll(() => stack.disposeAsync())

/** On a connection of its own: one that is kept may be closed just then, as this process is busy. */
async function page() {
  const response = await fetch(`http://127.0.0.1:${healthPort}/metrics`, { headers: { connection: 'close' } })
  return parseMetrics(await response.text())
}

const memory = async () => sumOf(await page(), 'process_resident_memory_bytes')
const bytesInFlight = async () => sumOf(await page(), 'gateway_bytes_in_flight')

interface Uploader {
  /** The response so far. */
  readonly reply: string
  leave(): void
}

/** Announces a body and sends all of it but its last byte. */
async function upload(key: string, length: number, path = CHAT): Promise<Uploader> {
  const socket = connect(port, '127.0.0.1')
  let reply = ''
  socket.on('data', (bytes) => (reply += bytes.toString('latin1')))
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${BODY_START}`,
  )
  socket.write(Buffer.alloc(length - BODY_START.length - 1, 'a'))
  return {
    get reply() {
      return reply
    },
    leave: () => void socket.destroy(),
  }
}

const statusOf = ({ reply }: Uploader) => Number(/^HTTP\/1\.1 (\d+)/.exec(reply)?.[1] ?? 0)

async function mostMemory(forMs: number): Promise<number> {
  let most = 0
  for (const untilMs = performance.now() + forMs; performance.now() < untilMs;) most = Math.max(most, await memory())
  return most
}

test('one guest key cannot fill the memory with the largest bodies that are allowed', async () => {
  const { key } = await newGuest(gateway)
  // Known before it uploads.
  await send(url, '/billing/quota', { key })
  const before = await memory()
  const watching = mostMemory(6_000)
  const uploaders = await Promise.all(Array.from({ length: 45 }, () => upload(key, LARGEST_BODY)))
  await expect
    .poll(() => uploaders.filter((uploader) => [429, 503].includes(statusOf(uploader))).length)
    .toBeGreaterThanOrEqual(43)
  const refused = uploaders.find((uploader) => statusOf(uploader) !== 0)!
  expect(refused.reply).toMatch(/\r\nretry-after: \d+\r\n/i)
  expect(refused.reply).toMatch(/\r\nretry-after-ms: \d+\r\n/i)
  expect((await watching) - before).toBeLessThan(MOST_GROWTH)
  for (const uploader of uploaders) uploader.leave()
})

test('keys that are made up cannot fill it with bodies of a size that is read at once', async () => {
  const random = (length: number) => randomBase62(length, randomBytes)
  const forged = () => formatKey({ keyId: random(8), accountTag: random(8), secret: random(32) })
  const before = await memory()
  const watching = mostMemory(8_000)
  const uploaders = await Promise.all(Array.from({ length: 4_000 }, () => upload(forged(), 250_000)))
  expect((await watching) - before).toBeLessThan(MOST_GROWTH)
  for (const uploader of uploaders) uploader.leave()
})

test('a body in chunks is counted as it comes', async () => {
  const { key } = await newGuest(gateway)
  const chunk = `10000\r\n${'a'.repeat(0x1_0000)}\r\n`
  const before = await memory()
  const sockets = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const socket = connect(port, '127.0.0.1')
      const state = { reply: '' }
      socket.on('data', (bytes) => (state.reply += bytes.toString('latin1')))
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write(
        `POST ${CHAT} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\n` +
          `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      )
      for (let sent = 0; sent < 20 * MEGABYTE; sent += 0x1_0000) socket.write(chunk)
      return { socket, state }
    }),
  )
  await expect
    .poll(() => sockets.filter(({ state }) => /^HTTP\/1\.1 (429|503)/.test(state.reply)).length)
    .toBeGreaterThanOrEqual(28)
  expect((await memory()) - before).toBeLessThan(MOST_GROWTH)
  for (const { socket } of sockets) socket.destroy()
})

test('a client that checks beforehand whether to send a large body gets the verdict before a byte of it is sent', async () => {
  const { key } = await newDeveloper(gateway)
  const first = await upload(key, LARGEST_BODY)
  await expect.poll(bytesInFlight).toBeGreaterThanOrEqual(LARGEST_BODY)
  const sendRequest = async (length: number) => {
    const socket = connect(port, '127.0.0.1')
    let reply = ''
    socket.on('data', (bytes) => (reply += bytes.toString('latin1')))
    socket.write(
      `POST ${CHAT} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\nExpect: 100-continue\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
    )
    await expect.poll(() => reply).toMatch(/\r\n\r\n/)
    socket.destroy()
    return reply.split('\r\n', 1)[0]
  }
  expect(await sendRequest(LARGEST_BODY)).toMatch(/^HTTP\/1\.1 (429|503) /)
  // The forged keys above have used up this address' share of the event loop for some seconds.
  await expect.poll(() => sendRequest(1_000)).toBe('HTTP/1.1 100 Continue')
  first.leave()
  await expect.poll(() => sendRequest(LARGEST_BODY)).toBe('HTTP/1.1 100 Continue')
})

test('all the while the well-behaved client was served, and the edge holds nothing of the bodies', async () => {
  const served = healthy.served
  await expect.poll(() => healthy.served).toBeGreaterThan(served + 5)
  expect(healthy.troubles).toEqual([])
  await expect.poll(bytesInFlight).toBeLessThan(100_000)
})
