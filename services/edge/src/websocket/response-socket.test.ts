import { EventEmitter } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import type { WebSocket } from 'ws'
import type { GatewayError } from '@gateway/contracts/errors'
import { createCpuShares } from '../core/cpu-shares.ts'
import { CpuAccount } from '../http/cpu-account.ts'
import { ResponseSocket, type SocketParts } from './response-socket.ts'
import type { TurnResponse } from './turn-response.ts'

const MEGABYTE = 1024 * 1024
const MINUTE_MS = 60_000
const later = () => new Promise((resolve) => setImmediate(resolve))

afterEach(() => {
  vi.useRealTimers()
})

/** The library's connection, which keeps the messages that it is given. */
class FakeWebSocket extends EventEmitter {
  readonly OPEN = 1
  readonly sent: string[] = []
  readyState = 1
  isPaused = false
  pings = 0
  closedWith: number | null = null

  send(text: string): void {
    this.sent.push(text)
  }
  ping(): void {
    this.pings++
  }
  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
  }
  close(code: number): void {
    this.closedWith ??= code
    if (this.readyState === this.OPEN) this.readyState = 2
  }
  terminate(): void {
    if (this.readyState === 3) return
    this.readyState = 3
    this.emit('close')
  }
}

class FakeSocket extends EventEmitter {
  writableNeedDrain = false
  readableHighWaterMark = 65_536
  cork(): void {}
  uncork(): void {}
}

interface Run {
  response: TurnResponse
  body: string
}

/** Its sender waits so long for its share at each message that needs no response. */
function idleFor(restMs: number): CpuAccount {
  return { measure: <Result>(work: () => Result) => work(), chargeMessage: () => restMs } as CpuAccount
}

function open({ memoryBytes = Infinity, restMs = 0, cpu = idleFor(restMs) } = {}) {
  const webSocket = new FakeWebSocket()
  const socket = new FakeSocket()
  const upgrade = { socket: socket as unknown as Socket, headers: {}, rawHeaders: [], httpVersion: '1.1' }
  const memory = { held: 0 }
  /** All requests that have begun, in their order. */
  const runs: Run[] = []
  let closed = 0
  const create: RequestListener = (request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    const run = { response: response as TurnResponse, body: '' }
    runs.push(run)
    request.on('end', () => (run.body = Buffer.concat(pieces).toString()))
  }
  const refuse: RequestListener = (request, response) => {
    const { code, details } = (request as IncomingMessage & { body: GatewayError }).body
    response.statusCode = 400
    response.end(JSON.stringify({ error: { code: details.refusal?.code ?? code } }))
  }
  const parts: SocketParts = {
    listeners: { create, warmUp: create, refuse },
    memory: {
      reserve: (bytes) => (memory.held += bytes) <= memoryBytes,
      release: (bytes) => void (memory.held -= bytes),
    },
    cpu,
    links: { docsUrl: '', topupUrl: '' },
    onClose: () => closed++,
  }
  const under = new ResponseSocket(
    webSocket as unknown as WebSocket,
    upgrade as unknown as IncomingMessage,
    'hash',
    parts,
  )
  const receive = (text: string) => {
    const bytes = Buffer.from(text)
    socket.emit('data', bytes)
    webSocket.emit('message', bytes, false)
  }
  return { webSocket, socket, under, memory, runs, receive, closedTimes: () => closed }
}

const HELLO = JSON.stringify({ type: 'response.create', input: 'Hello' })

function completed(id: string): string {
  const response = { id, status: 'completed', output: [{ type: 'message', role: 'assistant', content: 'OK' }] }
  return `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response })}\n\n`
}

function eventsIn({ sent }: FakeWebSocket): { type: string; error?: { code: string } }[] {
  return sent.map((text) => JSON.parse(text) as { type: string; error?: { code: string } })
}

const step = fc.oneof(
  { arbitrary: fc.constant({ do: 'message' } as const), weight: 6 },
  { arbitrary: fc.constant({ do: 'continue' } as const), weight: 3 },
  { arbitrary: fc.constantFrom('complete', 'fail', 'drop').map((how) => ({ do: 'end', how }) as const), weight: 8 },
  fc.nat(3 * MEGABYTE).map((bytes) => ({ do: 'incomplete', bytes }) as const),
  fc.constantFrom('stop', 'revoke', 'leave', 'ping', 'drain').map((what) => ({ do: what }) as const),
)

test('one request runs at a time, in the order of messages; none begins behind a farewell; all memory is given back', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.constantFrom(2 * MEGABYTE, Infinity),
      fc.constantFrom(0, 1),
      async (steps, memoryBytes, restMs) => {
        const { webSocket, socket, under, memory, runs, receive, closedTimes } = open({ memoryBytes, restMs })
        let received = 0
        let ended = 0
        let runsAtFarewell: number | null = null
        const running = () => runs.filter(({ response }) => !response.destroyed)
        for (const each of steps) {
          const isOpen = webSocket.readyState === webSocket.OPEN
          if (each.do === 'message' && isOpen && !webSocket.isPaused) {
            receive(JSON.stringify({ type: 'response.create', input: `number ${received++}` }))
          } else if (each.do === 'continue' && isOpen && !webSocket.isPaused) {
            const previous = `resp_${ended - 1}`
            const input = `number ${received++}`
            receive(JSON.stringify({ type: 'response.create', previous_response_id: previous, input }))
          } else if (each.do === 'end') {
            const [run] = running()
            if (run && each.how === 'complete') run.response.end(completed(`resp_${ended++}`))
            else if (run && each.how === 'fail') run.response.end('event: response.failed\ndata: {}\n\n')
            else if (run) run.response.destroy()
          } else if (each.do === 'incomplete' && isOpen) socket.emit('data', Buffer.alloc(each.bytes))
          else if (each.do === 'ping') webSocket.emit('ping', Buffer.alloc(4))
          else if (each.do === 'drain') socket.emit('drain')
          else if (each.do === 'leave') webSocket.terminate()
          else if (each.do === 'stop' || each.do === 'revoke') {
            under[each.do]()
            runsAtFarewell ??= runs.length
          }
          await later()
          expect(running().length).toBeLessThanOrEqual(1)
          expect(memory.held).toBeGreaterThanOrEqual(0)
          if (runsAtFarewell !== null) expect(runs.length).toBe(runsAtFarewell)
        }
        const numbers = runs.flatMap(({ body }) => [...body.matchAll(/"number (\d+)"/g)].at(-1)?.[1] ?? []).map(Number)
        expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
        webSocket.terminate()
        await later()
        expect(running()).toEqual([])
        expect(memory.held).toBe(0)
        expect(closedTimes()).toBe(1)
      },
    ),
    { numRuns: 300 },
  )
})

test('a socket that stops ends its running request, refuses the waiting ones and goes away', async () => {
  const { webSocket, under, runs, receive } = open()
  receive(HELLO)
  receive(HELLO)
  under.stop()
  expect(webSocket.closedWith).toBeNull()
  runs[0]!.response.end(completed('resp_1'))
  await later()
  expect(runs).toHaveLength(1)
  expect(eventsIn(webSocket)).toMatchObject([
    { type: 'response.completed' },
    { type: 'error', status: 503, error: { code: 'SERVICE_UNAVAILABLE' } },
  ])
  expect(webSocket.closedWith).toBe(1001)
})

/** Minutes pass; the client responds to each ping where it still lives. */
function pass(minutes: number, { socket, under }: Pick<ReturnType<typeof open>, 'socket' | 'under'>, responds = true) {
  for (let half = 0; half < 2 * minutes; half++) {
    vi.advanceTimersByTime(MINUTE_MS / 2)
    if (responds) socket.emit('data', Buffer.alloc(6))
    under.check(performance.now())
  }
}

test('after 60 minutes the client learns the limit of a connection, behind its running request', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const opened = open()
  const { webSocket, runs, receive } = opened
  receive(HELLO)
  pass(60, opened)
  expect(webSocket.closedWith).toBeNull()
  runs[0]!.response.end(completed('resp_1'))
  await later()
  expect(eventsIn(webSocket).at(-1)).toMatchObject({
    type: 'error',
    status: 400,
    error: { code: 'websocket_connection_limit_reached' },
  })
  expect(webSocket.closedWith).toBe(1000)
})

test('a socket without a request for 15 minutes closes; one whose request runs as long does not', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const [resting, busy] = [open(), open()]
  busy.receive(HELLO)
  pass(14.5, resting)
  expect(resting.webSocket.closedWith).toBeNull()
  pass(0.5, resting)
  expect(resting.webSocket.closedWith).toBe(1000)
  pass(20, busy)
  expect([busy.webSocket.closedWith, busy.webSocket.readyState]).toEqual([null, 1])
})

test('messages that came in one piece run before another piece is read, and each of them counts as memory', async () => {
  const { webSocket, socket, runs, memory } = open()
  const [message, ofPiece] = [Buffer.from('{"type":"response.create"}'), 1_000]
  let received = 0
  for (let turn = 0; turn < 50; turn++) {
    if (!webSocket.isPaused) {
      socket.emit('data', Buffer.alloc(message.length * ofPiece))
      for (let count = 0; count < ofPiece; count++, received++) webSocket.emit('message', message, false)
    }
    const waiting = received - runs.length
    expect(waiting).toBeLessThanOrEqual(ofPiece + 16)
    expect(memory.held).toBeGreaterThan(waiting * (message.length + 100))
    runs.at(-1)!.response.end(completed('resp_1'))
    await later()
  }
  webSocket.terminate()
  expect(memory.held).toBe(0)
})

test.each([
  ['messages that need no response', ({ receive }) => receive('{"type":"response.processed"}')],
  ['pings', ({ webSocket }) => webSocket.emit('ping', Buffer.alloc(1))],
  ['pongs', ({ webSocket }) => webSocket.emit('pong', Buffer.alloc(1))],
] satisfies [string, (opened: ReturnType<typeof open>) => unknown][])(
  'a flood of %s is read no faster than its sender has a share of the time, and a request behind it runs',
  (_, send) => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
    const opened = open({ cpu: new CpuAccount(createCpuShares(), { sender: 'guest' }, () => {}) })
    const { webSocket, runs, receive, memory } = opened
    let read = 0
    const sinceMs = performance.now()
    while (performance.now() - sinceMs < 10_000) {
      // A piece of the socket's bytes has many frames. All of them come, though it pauses at one.
      if (!webSocket.isPaused) for (let frame = 0; frame < 1_000; frame++, read++) send(opened)
      vi.advanceTimersByTime(1)
    }
    expect(read).toBeGreaterThan(10_000)
    // An eighth of ten seconds, and a moment.
    expect(read * 0.015).toBeLessThan(10_000 / 8 + 100)
    receive(HELLO)
    vi.advanceTimersByTime(10_000)
    expect(runs).toHaveLength(1)
    runs[0]!.response.end(completed('resp_1'))
    webSocket.terminate()
    expect([memory.held, vi.getTimerCount()]).toEqual([0, 0])
  },
)

test('a client that is silent for five minutes is cut, although it is pinged', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const opened = open()
  opened.receive(HELLO)
  pass(4.5, opened, false)
  expect([opened.webSocket.pings, opened.webSocket.readyState]).toEqual([9, 1])
  pass(0.5, opened, false)
  expect(opened.webSocket.readyState).toBe(3)
})

test('a message that finds no memory closes its connection before it is complete', () => {
  const { webSocket, socket, memory } = open({ memoryBytes: 2 * MEGABYTE })
  for (let count = 0; count < 40; count++) socket.emit('data', Buffer.alloc(65_536))
  expect(webSocket.closedWith).toBe(1013)
  expect(webSocket.isPaused).toBe(true)
  expect(memory.held).toBeLessThanOrEqual(2 * MEGABYTE + 65_536)
  webSocket.terminate()
  expect(memory.held).toBe(0)
})

test('a response that breaks off ends the connection, so that nobody takes it for a complete one', () => {
  const { webSocket, runs, receive } = open()
  receive(HELLO)
  runs[0]!.response.write('event: response.created\ndata: {"type":"response.created"}\n\n')
  runs[0]!.response.destroy()
  expect(webSocket.readyState).toBe(3)
})

test('a client that takes no more holds its response back, until it does', () => {
  const { socket, runs, receive } = open()
  receive(HELLO)
  const { response } = runs[0]!
  const event = 'event: response.output_text.delta\ndata: {"delta":"a"}\n\n'
  expect(response.write(event)).toBe(true)
  socket.writableNeedDrain = true
  expect(response.write(event)).toBe(false)
  let drained = 0
  response.on('drain', () => drained++)
  socket.writableNeedDrain = false
  socket.emit('drain')
  expect(drained).toBe(1)
})
