import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMetrics } from '@gateway/telemetry/metrics'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edgeMetrics } from '../metrics.ts'
import { MOMENT_MS, SHARE } from '../core/cpu-shares.ts'
import { clientNetwork } from './client-network.ts'
import { type BytesInFlight, LEAST_BYTES_IN_FLIGHT, trackBytesInFlight } from './memory-budget.ts'
import { sendError } from './send-error.ts'
import { beginRequest, type Step, takeSteps } from './take-steps.ts'

const MEGABYTE = 1024 * 1024
const ERROR = { code: 'rate_limit_exceeded', message: 'Too many', details: { retryAfterMs: 1_000 } } as const

let opened: AsyncDisposableStack
let bytes: BytesInFlight
let port: number
/** Of the server's side. */
let sockets: Set<Socket>
beforeEach(async () => {
  opened = new AsyncDisposableStack()
  sockets = new Set()
  bytes = trackBytesInFlight(LEAST_BYTES_IN_FLIGHT, clientNetwork(false), () => {})
  const edge = {
    settings: { docsUrl: '', topupUrl: '' },
    config: { current: {} },
    metrics: edgeMetrics(createMetrics({ service: 'edge' })),
    tracer: NO_TRACING,
    bytes,
  }
  const serve: Step = (request, response) => {
    if (request.url === '/served') return void response.end('served')
    if (request.url === '/taken') bytes.reserveRequest(request, response).takeProven('account', false, 20 * MEGABYTE)
    if (request.url === '/paused') request.on('data', () => {}).pause()
    sendError(edge, ERROR, request, response)
  }
  const fail = (error: unknown) => {
    throw error
  }
  const server = createServer(takeSteps('/', [beginRequest(edge), serve], fail))
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  opened.defer(async () => {
    server.closeAllConnections()
    server.close()
  })
})
afterEach(() => opened.disposeAsync())

const headOf = (path: string, headers: string) => `POST ${path} HTTP/1.1\r\nhost: a\r\n${headers}\r\n\r\n`

function open(): { socket: Socket; received(): string } {
  const socket = connect({ port, host: '127.0.0.1' })
  // A connection may be cut while it sends.
  socket.on('error', () => {})
  opened.defer(async () => void socket.destroy())
  let received = ''
  socket.setEncoding('utf8').on('data', (piece: string) => (received += piece))
  return { socket, received: () => received }
}

/** Resolves when all of it is in the system's hands. */
const write = (socket: Socket, piece: string | Buffer) => new Promise((resolve) => void socket.write(piece, resolve))

const piece = fc.nat(200_000)
test('a client that sends its whole body before it reads hears the refusal, and the end of the connection if its body was large', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 8 }), fc.boolean(), async (sizes, isChunked) => {
      const { socket, received } = open()
      socket.pause()
      const bytes = sizes.reduce((sum, size) => sum + size, 0)
      await write(socket, headOf('/refused', isChunked ? 'transfer-encoding: chunked' : `content-length: ${bytes}`))
      for (const size of sizes.filter((size) => size > 0)) {
        if (isChunked) await write(socket, `${size.toString(16)}\r\n`)
        await write(socket, Buffer.alloc(size))
        if (isChunked) await write(socket, '\r\n')
      }
      if (isChunked) await write(socket, '0\r\n\r\n')
      await write(socket, headOf('/served', 'content-length: 0'))
      const ended = once(socket, 'end')
      socket.resume()
      await expect.poll(received, { timeout: 20_000 }).toMatch(/^HTTP\/1\.1 429[^]*\}/)
      if (bytes > 200_000) expect(received()).toMatch(/connection: close\r\n/i)
      if (/connection: close\r\n/i.test(received())) await ended
      else await expect.poll(received, { timeout: 20_000 }).toMatch(/HTTP\/1\.1 200[^]*served/)
      socket.destroy()
    }),
    { numRuns: 25 },
  )
}, 120_000)

test('of refused bodies a sender gets rid of no more than its share takes', async () => {
  const body = Buffer.alloc(20 * MEGABYTE)
  const clients = Array.from({ length: 10 }, () => open())
  for (const { socket } of clients) socket.write(headOf('/refused', `content-length: ${body.length}`))
  const sinceMs = performance.now()
  for (const { socket } of clients) socket.write(body)
  await sleep(1_000)
  const read = Array.from(sockets, ({ bytesRead }) => bytesRead).reduce((sum, bytes) => sum + bytes, 0)
  // At 8 ns a byte. Node reads a little of each ahead.
  const shareBytes = ((performance.now() - sinceMs) * SHARE + MOMENT_MS) / 8e-6
  expect(read).toBeLessThan(shareBytes + clients.length * 2 * MEGABYTE)
  for (const { received } of clients) await expect.poll(received, { timeout: 20_000 }).toContain('HTTP/1.1 429')
}, 60_000)

test('a sender that repeats a large refused body hears every refusal, and no request waits behind the body of another', async () => {
  const agent = new Agent({ keepAlive: true })
  const body = Buffer.alloc(3 * MEGABYTE)
  const send = () =>
    new Promise<number | string>((resolve) => {
      const sent = request({ port, method: 'POST', path: '/refused', agent, signal: AbortSignal.timeout(20_000) })
      sent.on('error', ({ message }) => resolve(message))
      sent.once('response', (response) => {
        const outcome = sent.reusedSocket ? 'behind another body' : response.statusCode!
        response.resume().once('end', () => resolve(outcome))
      })
      sent.end(body)
    })
  const untilMs = performance.now() + 3_000
  const outcomes = new Set<number | string>()
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      while (performance.now() < untilMs) outcomes.add(await send())
    }),
  )
  agent.destroy()
  expect(outcomes).toEqual(new Set([429]))
}, 60_000)

test('a client that never stops sending hears the refusal, and its connection is cut', async () => {
  const { socket, received } = open()
  const body = Buffer.alloc(MEGABYTE)
  await write(socket, headOf('/refused', `content-length: ${1_000 * body.length}`))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  let sent = 0
  const goOn = (error?: Error | null) => {
    if (!error && sent++ < 1_000) socket.write(body, goOn)
  }
  goOn()
  await closed
  expect(received()).toContain('HTTP/1.1 429')
  expect(sent).toBeLessThan(100)
}, 40_000)

test('a body whose reader has paused it is read to its end', async () => {
  const { socket, received } = open()
  const ended = once(socket, 'end')
  await write(socket, headOf('/paused', `content-length: ${MEGABYTE}`))
  await write(socket, Buffer.alloc(MEGABYTE))
  await ended
  expect(received()).toContain('HTTP/1.1 429')
})

test('a client that leaves meanwhile is forgotten', async () => {
  const { socket, received } = open()
  socket.write(headOf('/refused', 'content-length: 1000000'))
  await expect.poll(received).toContain('HTTP/1.1 429')
  socket.destroy()
  await expect.poll(() => [...sockets].every(({ destroyed }) => destroyed)).toBe(true)
})

test('a refused body takes no memory from the next one of its sender while the rest of it comes', async () => {
  const { socket, received } = open()
  socket.write(headOf('/taken', `content-length: ${20 * MEGABYTE}`))
  await expect.poll(received).toContain('HTTP/1.1 429')
  expect(Object.values(bytes.budget.memoryBudgets).map(({ used }) => used)).toEqual([0, 0, 0, 0, 0])
})
