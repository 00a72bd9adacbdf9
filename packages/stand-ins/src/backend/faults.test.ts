import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Backend, type Fault, startBackend } from '../backend.ts'

let backend: Backend
beforeAll(async () => {
  backend = await startBackend()
})
afterAll(() => backend[Symbol.asyncDispose]())
beforeEach(async () => {
  await backend.heal()
  backend.forget()
})

const CHAT = { model: 'sim', messages: [{ role: 'user', content: 'Say: Grüße 🎉 to all of you' }] }
const TEXT = 'Grüße 🎉 to all of you'
const STREAM = { ...CHAT, stream: true, stream_options: { include_usage: true } }

interface Received {
  status: number
  headers: Record<string, unknown>
  pieces: Buffer[]
  text: string
  /** The response ended as HTTP wants it. */
  complete: boolean
}

/** The response, piece by piece, until the end or until the client leaves; rejects when no response began. */
function post(body: object, path = '/chat/completions', leaveAfterMs = 5_000): Promise<Received> {
  return new Promise((resolve, reject) => {
    let replied = false
    const req = httpRequest(backend.url + path, { method: 'POST', agent: false }, (res) => {
      replied = true
      const pieces: Buffer[] = []
      const done = () => {
        clearTimeout(timer)
        resolve({
          status: res.statusCode!,
          headers: res.headers,
          pieces,
          text: Buffer.concat(pieces).toString(),
          complete: res.complete,
        })
      }
      res.on('data', (piece: Buffer) => pieces.push(piece))
      res.on('error', () => undefined)
      res.on('close', done)
    })
    const timer = setTimeout(() => req.destroy(new Error('left')), leaveAfterMs)
    req.on('error', (error) => {
      clearTimeout(timer)
      if (!replied) reject(error)
    })
    req.end(JSON.stringify(body))
  })
}

const dataOf = (text: string) => text.split(/\r?\n\r?\n/).filter((event) => event.startsWith('data: '))
const jsonOf = (event: string) => JSON.parse(event.slice('data: '.length))

describe('which request a fault meets', () => {
  test('faults are a script: each request takes the first that fits and has times left', async () => {
    backend.fail({ status: 500, times: 1 })
    backend.fail({ status: 429, retryAfter: 2, times: 2 })
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await post(CHAT)).status)
    expect(statuses).toEqual([500, 429, 429, 200])
  })

  test('a fault can be for one endpoint, one model, one backend, streams only', async () => {
    backend.fail({ status: 500, endpoint: 'embeddings' })
    backend.fail({ status: 501, model: 'other' })
    backend.fail({ status: 502, stream: true })
    backend.fail({ status: 503, backend: 'gpu-a' })
    expect((await post(CHAT)).status).toBe(200)
    expect((await post({ ...CHAT, model: 'other' })).status).toBe(501)
    expect((await post(STREAM)).status).toBe(502)
    expect((await post({ model: 'sim', input: 'x' }, '/embeddings')).status).toBe(500)
    const init = { method: 'POST', body: JSON.stringify(CHAT), headers: { 'x-simulated-backend': 'gpu-a' } }
    expect((await fetch(`${backend.url}/chat/completions`, init)).status).toBe(503)
  })

  test('a request can bring its own, in the model name', async () => {
    expect((await post({ ...CHAT, model: 'sim?status=418&retryAfter=3' })).headers).toMatchObject({
      'retry-after': '3',
    })
  })

  test('a misspelt fault is an error, not a request that succeeds', async () => {
    const { status, text } = await post({ ...CHAT, model: 'sim?dyeAfterChunks=3' })
    expect(status).toBe(400)
    expect(text).toContain('dyeAfterChunks')
  })

  test('a cancelled fault meets nobody', async () => {
    backend.fail({ status: 500 }).cancel()
    expect((await post(CHAT)).status).toBe(200)
  })
})

describe('before the response', () => {
  test('refused connections, until it is healed', async () => {
    await backend.refuse()
    await expect(post(CHAT)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await backend.heal()
    expect((await post(CHAT)).status).toBe(200)
  })

  test.each([[false], [true]])('a connection closed without a response (reset: %s)', async (reset) => {
    backend.fail({ disconnect: true, reset })
    await expect(post(CHAT)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await expect.poll(() => backend.calls[0]?.outcome).toBe('aborted')
  })

  test('a status with its own body and headers', async () => {
    backend.fail({ status: 429, retryAfter: 7, headers: { 'x-limit': 'a' }, body: '{"error":{"message":"slow down"}}' })
    const { status, headers, text } = await post(CHAT)
    expect({ status, text }).toEqual({ status: 429, text: '{"error":{"message":"slow down"}}' })
    expect(headers).toMatchObject({ 'retry-after': '7', 'x-limit': 'a' })
  })

  test('silence: no header ever', async () => {
    backend.fail({ hang: true })
    await expect(post(CHAT, undefined, 200)).rejects.toThrow('left')
    await expect.poll(() => backend.running).toBe(0)
    expect(backend.calls[0]).toMatchObject({ outcome: 'aborted', status: null })
  })

  test('a slow first byte', async () => {
    backend.fail({ firstByteDelayMs: 150 })
    const startedAtMs = performance.now()
    await post(CHAT)
    expect(performance.now() - startedAtMs).toBeGreaterThan(140)
  })

  test('an HTML page with status 200', async () => {
    backend.fail({ html: true })
    const { status, headers, text } = await post(CHAT)
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/html' })
    expect(text).toContain('<h1>502')
  })
})

describe('in the middle of a response', () => {
  test.each([
    ['a stream', STREAM],
    ['a JSON response', CHAT],
  ])('death after k chunks of %s', async (_, body) => {
    backend.fail({ dieAfterChunks: 2 })
    const { text, complete } = await post(body)
    expect(complete).toBe(false)
    expect(text.length).toBeGreaterThan(50)
    expect(text).not.toContain('[DONE]')
    expect(backend.calls[0]).toMatchObject({ chunksSent: 2, outcome: 'aborted' })
    expect(text).toContain(body === STREAM ? '"content":"Grüße"' : '"object":"chat.completion"')
  })

  test('death right after the headers', async () => {
    backend.fail({ dieAfterChunks: 0 })
    expect(await post(STREAM)).toMatchObject({ status: 200, text: '', complete: false })
  })

  test('a stall after k chunks: the connection stays and nothing comes', async () => {
    backend.fail({ stallAfterChunks: 2 })
    const { text } = await post(STREAM, undefined, 300)
    expect(dataOf(text)).toHaveLength(2)
    await expect.poll(() => backend.calls[0]?.outcome).toBe('aborted')
  })

  test("a half-open connection: the client's leaving goes unnoticed", async () => {
    await using lost = await startBackend()
    lost.fail({ halfOpenAfterChunks: 2 })
    const socket = connect(lost.port, '127.0.0.1')
    const body = JSON.stringify(STREAM)
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    await once(socket, 'data')
    await expect.poll(() => lost.calls[0]?.chunksSent).toBe(2)
    socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(lost.calls[0]!.outcome).toBe('running')
  })

  test('JSON cut in the middle of a response that ends well', async () => {
    backend.fail({ truncatedJson: true })
    const plain = await post(CHAT)
    expect(plain.complete).toBe(true)
    expect(() => JSON.parse(plain.text)).toThrow(SyntaxError)
    const streamed = await post(STREAM)
    expect(streamed.complete).toBe(true)
    expect(streamed.text).not.toContain('[DONE]')
    expect(() => jsonOf(dataOf(streamed.text).at(-1)!)).toThrow(SyntaxError)
  })

  test('a line that is no JSON among good ones', async () => {
    backend.fail({ garbageAfterChunks: 3 })
    const events = dataOf((await post(STREAM)).text)
    expect(() => jsonOf(events[3]!)).toThrow(SyntaxError)
    expect(events.at(-1)).toBe('data: [DONE]')
  })

  test('an error event instead of the rest', async () => {
    backend.fail({ errorAfterChunks: 3 })
    const events = dataOf((await post(STREAM)).text)
    expect(jsonOf(events[3]!)).toMatchObject({ error: { type: 'internal_server_error' } })
    expect(events).toHaveLength(5)
  })

  test('an error event that has choices, too', async () => {
    backend.fail({ errorAfterChunks: 3, errorBesideChoices: true })
    const events = dataOf((await post(STREAM)).text)
    const error = { type: 'internal_server_error' }
    expect(jsonOf(events[3]!)).toMatchObject({ error, choices: [{ finish_reason: 'error' }] })
    expect(events).toHaveLength(5)
  })

  test('chunks without content before the first content', async () => {
    const plain = dataOf((await post(STREAM)).text)
    backend.fail({ emptyChunks: 40 })
    const events = dataOf((await post(STREAM)).text)
    expect(events).toHaveLength(plain.length + 40)
    for (const event of events.slice(1, 41))
      expect(jsonOf(event)).toMatchObject({ choices: [{ delta: { content: '' } }] })
  })

  test('chunks at a slow pace', async () => {
    backend.fail({ paceMs: 30 })
    const startedAtMs = performance.now()
    const { text } = await post(STREAM)
    expect(performance.now() - startedAtMs).toBeGreaterThan(dataOf(text).length * 29 - 30)
  })
})

describe('valid, but hard to read', () => {
  test.each<[string, Fault]>([
    ['every byte by itself, so that characters and events are split', { splitEvery: [1] }],
    ['pieces of 3, 1 and 7 bytes', { splitEvery: [3, 1, 7] }],
    ['CRLF line ends', { crlf: true }],
    ['comments between events', { comments: true }],
    ['all of these at once', { splitEvery: [2, 5], crlf: true, comments: true }],
  ])('%s: the official client reads the same text', async (_, fault) => {
    backend.fail(fault)
    const client = new OpenAI({ baseURL: backend.url, apiKey: 'unused', maxRetries: 0 })
    let text = ''
    for await (const chunk of await client.chat.completions.create(
      STREAM as OpenAI.ChatCompletionCreateParamsStreaming,
    )) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(TEXT)
  })

  test('a split really splits characters across reads', async () => {
    backend.fail({ splitEvery: [1] })
    const { pieces } = await post(STREAM)
    expect(pieces.some((piece) => piece.toString().includes('�'))).toBe(true)
  })

  test('bytes on the connection after the response', async () => {
    backend.fail({ extraBytes: 'HTTP/1.1 200 OK\r\n\r\noops' })
    const socket = connect(backend.port, '127.0.0.1')
    const body = JSON.stringify(CHAT)
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    let received = ''
    socket.on('data', (bytes: Buffer) => (received += bytes.toString()))
    await expect.poll(() => received).toContain('}HTTP/1.1 200 OK\r\n\r\noops')
    socket.destroy()
  })

  test('a stream without [DONE], without usage, without a finish reason', async () => {
    backend.fail({ noDone: true, times: 1 })
    expect((await post(STREAM)).text).not.toContain('[DONE]')
    backend.fail({ noUsage: true, times: 2 })
    expect((await post(STREAM)).text).not.toContain('prompt_tokens')
    expect(JSON.parse((await post(CHAT)).text)).not.toHaveProperty('usage')
    backend.fail({ noFinishReason: true, times: 1 })
    expect((await post(STREAM)).text).not.toContain('"stop"')
  })

  test('usage in the chunk of the finish reason, though nobody requested it', async () => {
    backend.fail({ usageWithFinish: true })
    const events = dataOf((await post({ ...CHAT, stream: true })).text)
    expect(jsonOf(events.at(-2)!)).toMatchObject({
      choices: [{ finish_reason: 'stop' }],
      usage: { completion_tokens: 6 },
    })
  })

  test('a usage and a text of the tester', async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
    backend.fail({ usage, text: 'exactly this' })
    const reply = JSON.parse((await post(CHAT)).text)
    expect(reply).toMatchObject({ usage, choices: [{ message: { content: 'exactly this' } }] })
    expect(backend.calls[0]!.usage).toMatchObject(usage)
  })

  test.each([
    ['streamed', STREAM],
    ['plain', CHAT],
  ])('a huge response, %s, with its true usage', async (_, body) => {
    backend.fail({ sizeBytes: 5_000_000 })
    const { text, complete } = await post(body)
    expect(complete).toBe(true)
    expect(text.length).toBeGreaterThan(5_000_000)
    expect(backend.calls[0]!.usage!.completion_tokens!).toBeGreaterThan(500_000)
  })
})

describe('embeddings and images', () => {
  test('vectors of the wrong dimension', async () => {
    backend.fail({ dimensions: 100 })
    const { data } = JSON.parse((await post({ model: 'sim', input: 'x' }, '/embeddings')).text)
    expect(data[0].embedding).toHaveLength(100)
  })

  test('an image as a URL, where the request names that format', async () => {
    const body = { prompt: 'x', size: '64x64', response_format: 'url' }
    const { url } = JSON.parse((await post(body, '/images/generations')).text).data[0]
    expect((await fetch(url)).headers.get('content-type')).toBe('image/png')
  })

  test('an image in another format, where the request names one', async () => {
    const sendRequest = async (output_format: string) =>
      JSON.parse((await post({ prompt: 'x', size: '64x64', output_format }, '/images/generations')).text).data[0]
        .b64_json
    expect(await sendRequest('png')).toMatch(/^iVBOR/)
    expect(await sendRequest('jpeg')).not.toMatch(/^iVBOR/)
  })
})

test('as a process of its own, it is controlled over HTTP', async () => {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url))
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PORT: '0' },
  })
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const { url } = JSON.parse(line.toString()) as { url: string }
    const control = url.replace('/v1', '/_control')
    const send = (to: string, body: object) => fetch(to, { method: 'POST', body: JSON.stringify(body) })
    expect((await send(`${control}/faults`, { status: 503, times: 1 })).status).toBe(200)
    expect((await send(`${control}/faults`, { wrong: true })).status).toBe(400)
    expect((await send(`${url}/chat/completions`, CHAT)).status).toBe(503)
    expect((await send(`${url}/chat/completions`, CHAT)).status).toBe(200)
    await send(`${control}/faults`, { status: 503 })
    expect((await fetch(`${control}/faults`, { method: 'DELETE' })).status).toBe(200)
    expect((await send(`${url}/chat/completions`, CHAT)).status).toBe(200)
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number]
    expect(code).toBe(0)
  } finally {
    child.kill('SIGKILL')
  }
})
