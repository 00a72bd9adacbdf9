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
