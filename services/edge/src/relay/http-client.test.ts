import { EventEmitter, once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Response } from 'express'
import { GatewayError } from '@gateway/contracts/errors'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { keptBytes, PASSED_BYTES } from '@gateway/testing/kept-memory'
import { httpClient, jsonResponse, streamResponse } from './http-client.ts'
import { NO_SOURCE } from './client-writer.ts'

/** A response whose socket is full or takes bytes, as the test says. */
class FakeResponse extends EventEmitter {
  headersSent = false
  hasCapacity = true
  isDestroyed = false
  isEnded = false
  get writableEnded(): boolean {
    return this.isEnded
  }
  headers: Record<string, string | number> = {}
  text = ''

  writeHead(_status: number, headers: Record<string, string | number>): void {
    if (this.headersSent) throw new Error('headers after the headers')
    Object.assign(this.headers, headers)
    this.headersSent = true
  }
  flushHeaders(): void {
    this.headersSent = true
  }
  write(bytes: string | Uint8Array): boolean {
    if (this.isEnded) throw new Error('a write after the end')
    this.headersSent = true
    this.text += Buffer.from(bytes as Uint8Array).toString()
    return this.hasCapacity
  }
  end(bytes: string | Uint8Array = ''): void {
    this.write(bytes)
    this.isEnded = true
    this.emit('close')
  }
  destroy(): void {
    this.isDestroyed = true
    this.emit('close')
  }
}

function open(dialect: ClientDialect | null) {
  const response = new FakeResponse()
  let consumed = 0
  const onSilence = () => ({ 'x-committed': 'on silence' })
  const count = (bytes: number): void => void (consumed += bytes)
  const responding = response as unknown as Response
  const writer = dialect
    ? streamResponse(responding, { dialect, requestId: 'req-1' }, count, onSilence)
    : jsonResponse(responding, count)
  return { response, writer, consumed: () => consumed }
}

const broken = new GatewayError('UPSTREAMS_EXHAUSTED', 'The answer was interrupted')
const event = (text: string) => Buffer.from(`data: {"text":"${text}"}\n\n`)
const KEEP_ALIVE = ': keep-alive\n\n'

test('a silent stream of the Messages API gets pings', () => {
  vi.useFakeTimers()
  try {
    const { response } = open('messages')
    vi.advanceTimersByTime(15_000)
    expect(response.text).toBe('event: ping\ndata: {"type": "ping"}\n\n')
  } finally {
    vi.useRealTimers()
  }
})

describe('a stream', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('whose backend is silent from the start gets headers and a comment every 15 seconds, never an empty event', () => {
    const { response, writer } = open('chat')
    vi.advanceTimersByTime(14_999)
    expect(response.headersSent).toBe(false)
    vi.advanceTimersByTime(1)
    expect(response).toMatchObject({ text: KEEP_ALIVE, headers: { 'x-committed': 'on silence' } })
    expect(response.headers['content-type']).toBe('text/event-stream')
    vi.advanceTimersByTime(30_000)
    expect(response.text).toBe(KEEP_ALIVE.repeat(3))
    writer.begin('text/event-stream', () => ({ late: 'header' }))
    writer.write(event('a'))
    writer.finish(() => ({}))
    expect(response.text).toBe(`${KEEP_ALIVE.repeat(3)}data: {"text":"a"}\n\ndata: [DONE]\n\n`)
  })

  test('that flows has no comments; one that falls silent again has', () => {
    const { response, writer } = open('chat')
    writer.begin('text/event-stream', () => ({}))
    for (const text of ['a', 'b', 'c']) {
      vi.advanceTimersByTime(14_000)
      writer.write(event(text))
    }
    expect(response.text).not.toContain(KEEP_ALIVE)
    vi.advanceTimersByTime(15_000)
    expect(response.text.endsWith(KEEP_ALIVE)).toBe(true)
  })

  test.each(['finish', 'fail', 'close'] as const)('that is over (%s) has no comment after its end', (how) => {
    const { response, writer } = open('chat')
    writer.begin('text/event-stream', () => ({}))
    if (how === 'finish') writer.finish(() => ({}))
    if (how === 'fail') writer.fail(broken)
    if (how === 'close') response.destroy()
    const { text } = response
    vi.advanceTimersByTime(60_000)
    expect(response.text).toBe(text)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that was refused before it began gets no life signs, also while the refusal waits for its client', () => {
    const { response } = open('chat')
    response.writeHead(429, {})
    response.text = 'refused'
    // Its last bytes have not left, so it is not closed.
    response.isEnded = true
    vi.advanceTimersByTime(60_000)
    expect(response.text).toBe('refused')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that breaks ends with an error event and never with [DONE]', () => {
    const { response, writer } = open('chat')
    writer.begin('text/event-stream', () => ({}))
    writer.write(event('a'))
    writer.fail(broken)
    expect(response.text).not.toContain('[DONE]')
    const last = response.text.trimEnd().split('\n\n').at(-1)!
    expect(JSON.parse(last.slice('data: '.length))).toEqual({
      error: { message: 'The answer was interrupted', type: 'server_error', code: 'UPSTREAMS_EXHAUSTED' },
    })
  })

  test('is consumed as its client takes it', () => {
    const { response, writer, consumed } = open('chat')
    writer.begin('text/event-stream', () => ({}))
    writer.write(Buffer.alloc(10))
    expect(consumed()).toBe(10)
    response.hasCapacity = false
    writer.write(Buffer.alloc(100))
    writer.write(Buffer.alloc(1_000))
    expect(consumed()).toBe(10)
    response.emit('drain')
    expect(consumed()).toBe(1_110)
  })
})

describe('a JSON response', () => {
  test('of usual size is sent whole at its finish, with its length', () => {
    const { response, writer, consumed } = open(null)
    writer.begin('application/json', () => ({ remaining: '10' }))
    writer.write(Buffer.from('{"a":'))
    writer.write(Buffer.from('1}'))
    expect(response.headersSent).toBe(false)
    expect(consumed()).toBe(7)
    writer.finish(() => ({ remaining: '9' }))
    expect(response).toMatchObject({ text: '{"a":1}', isEnded: true })
    expect(response.headers).toEqual({ 'content-type': 'application/json', 'content-length': 7, remaining: '9' })
  })

  test('that is large is sent as it comes, but for its last piece', () => {
    const { response, writer, consumed } = open(null)
    writer.begin('application/json', () => ({}))
    for (let piece = 0; piece < 4; piece++) writer.write(Buffer.alloc(200_000, String(piece)))
    expect(response.text.length).toBe(600_000)
    expect(consumed()).toBeGreaterThanOrEqual(600_000)
    expect(response.isEnded).toBe(false)
    writer.finish(() => ({}))
    expect(response.text.length).toBe(800_000)
    expect(response.headers).not.toHaveProperty('content-length')
  })

  test('counts its waiting bytes as memory, and none twice', () => {
    const response = new FakeResponse()
    let counted = 0
    const reservation = {
      reserve: (bytes: number) => (counted += bytes) > 0,
      release: (bytes: number) => void (counted -= bytes),
    }
    const responding = Object.assign(response, { locals: { reservation } })
    const writer = jsonResponse(responding as unknown as Response, () => {})
    writer.write(Buffer.alloc(100_000))
    expect(counted).toBe(100_000)
    writer.restart()
    expect(counted).toBe(0)
    for (let piece = 0; piece < 4; piece++) writer.write(Buffer.alloc(200_000))
    expect(counted).toBe(0)
    response.hasCapacity = false
    for (let piece = 0; piece < 2; piece++) writer.write(Buffer.alloc(200_000))
    expect(counted).toBe(400_000)
    response.emit('drain')
    expect(counted).toBe(0)
  })

  test('that breaks after its first bytes breaks the connection: it never looks whole', () => {
    const { response, writer } = open(null)
    writer.begin('application/json', () => ({}))
    writer.write(Buffer.alloc(300_000))
    writer.write(Buffer.alloc(300_000))
    writer.fail(broken)
    expect(response).toMatchObject({ isDestroyed: true, isEnded: false })
  })
})

describe('a client of a real connection', () => {
  /** A writer for each request's stream. `read` gives all bytes of a client that sends `request`. */
  async function openConnection(request: string) {
    const writers: ReturnType<typeof streamResponse>[] = []
    const server = createServer((_, response) => {
      writers.push(
        streamResponse(
          response,
          { dialect: 'chat', requestId: 'r' },
          () => {},
          () => ({}),
        ),
      )
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const came: Buffer[] = []
    socket.on('data', (bytes) => came.push(bytes))
    const ended = once(socket, 'close')
    socket.write(request)
    return {
      writers,
      async read() {
        await ended
        return Buffer.concat(came).toString('latin1')
      },
      [Symbol.dispose]() {
        socket.destroy()
        server.close()
      },
    }
  }

  const LAST = 'connection: close\r\n\r\n'
  const pieces = [1, 15, 16, 255, 4_095, 4_096, 16_384, 16_385, 70_000].map((bytes) => Buffer.alloc(bytes, `${bytes} `))
  const stream = Buffer.concat([...pieces, Buffer.from('data: [DONE]\n\n')]).toString()

  async function send(writer: ReturnType<typeof streamResponse>): Promise<void> {
    writer.begin('text/event-stream', () => ({}))
    for (const piece of pieces) {
      writer.write(piece)
      writer.write(Buffer.alloc(0))
      if (piece.length > 4_095) await setImmediate()
    }
    writer.finish(() => ({}))
  }

  function bodyOf(response: string): string {
    return response.slice(response.indexOf('\r\n\r\n') + 4)
  }

  test('gets pieces of any size as chunks of HTTP/1.1', async () => {
    using connection = await openConnection(`GET / HTTP/1.1\r\nhost: edge\r\n${LAST}`)
    await expect.poll(() => connection.writers).toHaveLength(1)
    await send(connection.writers[0]!)
    let body = bodyOf(await connection.read())
    let text = ''
    for (let bytes = NaN; bytes !== 0;) {
      const [line] = /^[0-9a-f]+\r\n/.exec(body) ?? []
      bytes = Number.parseInt(line!, 16)
      text += body.slice(line!.length, line!.length + bytes)
      expect(body.slice(line!.length + bytes, line!.length + bytes + 2)).toBe('\r\n')
      body = body.slice(line!.length + bytes + 2)
    }
    expect(text).toBe(stream)
    expect(body).toBe('')
  })

  test('gets no chunks where it speaks HTTP/1.0', async () => {
    using connection = await openConnection('GET / HTTP/1.0\r\n\r\n')
    await expect.poll(() => connection.writers).toHaveLength(1)
    await send(connection.writers[0]!)
    expect(bodyOf(await connection.read())).toBe(stream)
  })

  test('gets two streams whole that it requested at once, the second of which began first', async () => {
    using connection = await openConnection(
      `GET / HTTP/1.1\r\nhost: edge\r\n\r\nGET / HTTP/1.1\r\nhost: edge\r\n${LAST}`,
    )
    await expect.poll(() => connection.writers).toHaveLength(2)
    for (const writer of connection.writers.toReversed()) await send(writer)
    const read = await connection.read()
    const [first, second] = read.split('HTTP/1.1 200 OK\r\n').slice(1).map(bodyOf)
    expect(first).toBe(second)
    expect(first!.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n')).toBe(true)
  })
})

test('a stream that is refused behind a running response of the same connection ends no process by its keep-alives', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const serverResponses: ServerResponse[] = []
  const server = createServer((_, response) => void serverResponses.push(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    socket.write('GET / HTTP/1.1\r\nhost: edge\r\n\r\n'.repeat(2))
    await expect.poll(() => serverResponses).toHaveLength(2)
    const response = Object.assign(serverResponses[1]!, { locals: {} })
    const client = httpClient(response, { stream: true, requestId: 'r' })
    client.listen(NO_SOURCE)
    client.fail(broken)
    await expect(client.ended).rejects.toBe(broken)
    response.writeHead(503).end('refused')
    const errors: unknown[] = []
    response.on('error', (error) => errors.push(error))
    vi.advanceTimersByTime(60_000)
    await setImmediate()
    expect(errors).toEqual([])
  } finally {
    vi.useRealTimers()
    socket.destroy()
    server.close()
  }
})

test('the writer of a response is collected with it, and nothing keeps the responses of earlier requests', () => {
  const kept = keptBytes((words) => {
    const response = Object.assign(new FakeResponse(), { words })
    const client = httpClient(response as unknown as Response, { stream: false, requestId: 'r' })
    client.listen(NO_SOURCE)
    return () => {
      client.begin('application/json', () => ({}))
      client.finish(() => ({}))
    }
  })
  expect(kept).toBeLessThan(PASSED_BYTES / 10)
})
