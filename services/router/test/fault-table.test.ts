/**
 * The fault table: the faults of the first backend of two, and the client's view of each.
 */

import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { JobHeader } from '@gateway/contracts/job'
import { faultPageSection } from '@gateway/testing/fault-page'
import {
  chunk,
  completion,
  DONE,
  event,
  goodChat,
  openStream,
  ROLE,
  sendJson,
  STOP,
  USAGE,
  USAGE_CHUNK,
  completeStream,
  WORDS,
  type Reply,
} from './http-backend.ts'
import { MESSAGE } from './targets/messages.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const page = faultPageSection('router', ['The first backend …', 'Request', 'Its attempt', 'Served by', 'Metered'])

/** A backend whose fault is silence is left soon; no other one is ever late. */
const SOON_LEFT = { timeouts: { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000 } }
const routerOver = (urls: string[], outcome: string | RegExp = '') =>
  router(poolOver(urls, { backends: [/timeout/.test(String(outcome)) ? SOON_LEFT : {}, {}] }))

async function portWithoutListener(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const GOOD_PLAIN = JSON.stringify(completion())
const GOOD_STREAM = completeStream().replace(USAGE_CHUNK, '').replace(DONE, '')
const GOOD_USAGE = { promptTokens: 9, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0, estimated: false }

const status = (code: number, headers: Record<string, string> = {}): Reply => {
  return (response) => sendJson(response, code, { error: { message: `status ${code}` } }, headers)
}

interface Row {
  fault: string
  /** The faulty backend's response, or its address. */
  reply?: Reply
  url?: (real: string) => string | Promise<string>
  /** The recorded outcome of the attempt at it. */
  outcome: string | RegExp
  only?: 'stream' | 'plain'
}

const BEFORE_CONTENT: Row[] = [
  {
    fault: 'connection refused',
    url: async () => `http://127.0.0.1:${await portWithoutListener()}/v1`,
    outcome: 'connect',
  },
  { fault: 'name not found', url: () => 'http://no-such-host.invalid:8000/v1', outcome: /^(dns|connect_timeout)$/ },
  { fault: 'TLS handshake fails', url: (real) => real.replace('http:', 'https:'), outcome: 'tls' },
  ...[500, 502, 503, 504, 401, 403, 404, 402, 408].map((code) => ({
    fault: `status ${code}`,
    reply: status(code),
    outcome: `http_${code}`,
  })),
  { fault: '429 with retry-after', reply: status(429, { 'retry-after': '30' }), outcome: 'http_429' },
  { fault: '429 without retry-after', reply: status(429), outcome: 'http_429' },
  { fault: 'a redirect', reply: status(302, { location: 'http://127.0.0.1:1/' }), outcome: 'http_302' },
  { fault: 'hangs before headers', reply: () => {}, outcome: 'first_byte_timeout' },
  {
    fault: 'first byte too slow',
    reply: (response, request, socket) => void setTimeout(() => goodChat(response, request, socket), 2_500).unref(),
    outcome: 'first_byte_timeout',
  },
  { fault: 'connection closed before headers', reply: (_, __, socket) => socket.destroy(), outcome: 'reset' },
  { fault: 'no HTTP at all', reply: (_, __, socket) => socket.end('+PONG\r\n'), outcome: 'invalid_answer' },
  {
    fault: 'an HTML page under a 200',
    reply: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>It works!</html>'),
    outcome: 'invalid_answer',
  },
  { fault: 'an error under a 200', reply: status(200), outcome: 'error_event' },
  {
    fault: 'JSON instead of a stream',
    reply: (response) => sendJson(response, 200, completion()),
    outcome: 'invalid_answer',
    only: 'stream',
  },
  {
    fault: 'headers, then silence',
    reply: (response, request) => (request.body.stream ? openStream(response) : response.writeHead(200).flushHeaders()),
    outcome: 'first_byte_timeout',
  },
  {
    fault: 'truncated JSON',
    reply: (response) => response.end(GOOD_PLAIN.slice(0, 40)),
    outcome: 'invalid_answer',
    only: 'plain',
  },
  {
    fault: 'a response without choices',
    reply: (response) => sendJson(response, 200, { choices: [] }),
    outcome: 'invalid_answer',
    only: 'plain',
  },
  {
    fault: 'death in the middle of the body',
    reply: (response, _, socket) => {
      response.writeHead(200, { 'content-length': GOOD_PLAIN.length })
      response.write(GOOD_PLAIN.slice(0, 40), () => socket.destroy())
    },
    outcome: 'reset',
    only: 'plain',
  },
  { fault: 'death after zero chunks', reply: streamThenDie(''), outcome: 'reset', only: 'stream' },
  { fault: 'death after the role chunk', reply: streamThenDie(ROLE), outcome: 'reset', only: 'stream' },
  { fault: 'stall after the role chunk', reply: streamThen(ROLE), outcome: 'first_byte_timeout', only: 'stream' },
  { fault: 'a clean end after the role chunk', reply: streamThenEnd(ROLE), outcome: 'truncated', only: 'stream' },
  { fault: '[DONE] without a response', reply: streamThenEnd(ROLE + DONE), outcome: 'truncated', only: 'stream' },
  { fault: 'an empty stream', reply: streamThenEnd(''), outcome: 'truncated', only: 'stream' },
  {
    fault: 'an event that is not JSON',
    reply: streamThenEnd(`${ROLE}data: {"choices":[{"del\n\n`),
    outcome: 'invalid_answer',
    only: 'stream',
  },
  {
    fault: 'an error event before content',
    reply: streamThenEnd(ROLE + event({ error: { message: 'CUDA out of memory', code: 500 } })),
    outcome: 'error_event',
    only: 'stream',
  },
]

function streamThen(text: string): Reply {
  return (response) => {
    openStream(response)
    response.write(text)
  }
}

function streamThenEnd(text: string): Reply {
  return (response) => {
    openStream(response)
    response.end(text)
  }
}

function streamThenDie(text: string): Reply {
  return (response, _, socket) => {
    openStream(response)
    if (text === '') setTimeout(() => socket.destroy(), 20)
    else response.write(text, () => setTimeout(() => socket.destroy(), 20))
  }
}

const cases = BEFORE_CONTENT.flatMap((row) =>
  (['stream', 'plain'] as const).filter((mode) => !row.only || row.only === mode).map((mode) => ({ ...row, mode })),
)

describe('before content, a client sees nothing of it but the response of the next backend', () => {
  test.for(cases)('$fault ($mode)', async ({ fault, reply, url, outcome, mode }) => {
    const a = await backend(reply ?? goodChat)
    const b = await backend(goodChat)
    const router = await routerOver([url ? await url(a.url) : a.url, b.url], outcome)
    const job = await router.sendRequest({ stream: mode === 'stream' })

    expect(job.failure).toBeNull()
    expect(job.text()).toBe(mode === 'stream' ? GOOD_STREAM : GOOD_PLAIN)
    expect(job.head).toMatchObject({ backend: 'b', backendModel: 'model-b', upstream: 'spark' })
    expect(job.end?.usage).toEqual(GOOD_USAGE)
    expect(job.end?.attempts).toMatchObject([
      { backend: 'a', outcome: expect.stringMatching(outcome) },
      { backend: 'b', outcome: 'served' },
    ])
    expect(a.seen.length).toBe(url ? 0 : 1)
    expect(b.seen).toHaveLength(1)
    page.row(fault, mode, spelled(outcome), 'the second, whole', 'its own figures')
  })
})

/** On the page, where the system decides which of two it is, stands both. */
const spelled = (outcome: string | RegExp) =>
  `\`${typeof outcome === 'string' ? outcome : outcome.source.replace(/[^a-z_|]/g, '').replace('|', '` or `')}\``

const content = (count: number) =>
  WORDS.slice(0, count)
    .map((word) => chunk({ content: word }))
    .join('')

const AFTER_CONTENT: { fault: string; reply: Reply; outcome: string; shown: string; tokens: number }[] = [
  {
    fault: 'death after one chunk',
    reply: streamThenDie(ROLE + content(1)),
    outcome: 'reset',
    shown: ROLE + content(1),
    tokens: 1,
  },
  {
    fault: 'death after many chunks',
    reply: streamThenDie(ROLE + content(4)),
    outcome: 'reset',
    shown: ROLE + content(4),
    tokens: 4,
  },
  {
    fault: 'stall',
    reply: streamThen(ROLE + content(2)),
    outcome: 'idle_timeout',
    shown: ROLE + content(2),
    tokens: 2,
  },
  {
    fault: 'a clean end without an end',
    reply: streamThenEnd(ROLE + content(2)),
    outcome: 'truncated',
    shown: ROLE + content(2),
    tokens: 2,
  },
  {
    fault: 'an event that is not JSON',
    reply: streamInPieces(ROLE + content(2), `data: {"choices":[{"del\n\n${STOP}${DONE}`),
    outcome: 'invalid_answer',
    shown: ROLE + content(2),
    tokens: 2,
  },
  {
    fault: 'an error event',
    reply: streamInPieces(ROLE + content(2), event({ error: { message: 'preempted' } }) + DONE),
    outcome: 'error_event',
    shown: ROLE + content(2),
    tokens: 2,
  },
]

const NETWORK_PAUSE_MS = 40

function streamInPieces(...pieces: (string | Buffer)[]): Reply {
  return async (response) => {
    openStream(response)
    response.socket?.setNoDelay(true)
    for (const piece of pieces) {
      response.write(piece)
      await new Promise((resolve) => setTimeout(resolve, pieces.length > 10 ? 1 : NETWORK_PAUSE_MS))
    }
    response.end()
  }
}

describe('after content, a client is informed of it, and the text that it was shown is metered', () => {
  test.for(AFTER_CONTENT)('$fault', async ({ fault, reply, outcome, shown, tokens }) => {
    const a = await backend(reply)
    const b = await backend(goodChat)
    const router = await routerOver([a.url, b.url], outcome)
    const job = await router.sendRequest({ stream: true })

    expect(job.end).toBeNull()
    expect(job.text()).toBe(shown)
    expect(job.failure).toMatchObject({
      code: 'UPSTREAMS_EXHAUSTED',
      attempts: [{ backend: 'a', outcome }],
      usage: { promptTokens: 11, completionTokens: tokens, estimated: true },
    })
    expect(b.seen).toHaveLength(0)
    page.row(`${fault}, after content`, 'stream', spelled(outcome), 'nobody: an error', 'the text shown, estimated')
  })
})

const bytes = Buffer.from(completeStream())
const everyByte = [...bytes].map((byte) => Buffer.from([byte]))

const HARMLESS: { shape: string; reply: Reply; text?: string }[] = [
  {
    shape: 'every byte on its own (split characters, lines and events)',
    reply: streamInPieces(...joinPairs(everyByte)),
  },
  {
    shape: 'CRLF line ends',
    reply: streamThenEnd(completeStream().replaceAll('\n', '\r\n')),
    text: GOOD_STREAM.replaceAll('\n', '\r\n'),
  },
  {
    shape: 'comments between events',
    reply: streamThenEnd(`: hello\n\n${completeStream().replace(STOP, `: ping\n\n${STOP}`)}`),
  },
  { shape: 'a line that is no field', reply: streamThenEnd(completeStream().replace(STOP, `garbage\n${STOP}`)) },
  {
    shape: 'a block that is no event',
    reply: streamThenEnd(completeStream().replace(STOP, `garbage here\n\n${STOP}`)),
  },
  { shape: 'no [DONE] after the finish reason', reply: streamThenEnd(completeStream().replace(DONE, '')) },
  { shape: 'a [DONE] without its blank line', reply: streamThenEnd(completeStream().trimEnd()) },
  {
    shape: 'empty data between events',
    reply: streamThenEnd(`data:\n\n${completeStream().replace(STOP, `data: \n\nevent: ping\ndata: 3 s\n\n${STOP}`)}`),
  },
  { shape: 'a byte order mark', reply: streamThenEnd(`\uFEFF${completeStream()}`) },
  { shape: 'bytes after [DONE]', reply: streamThenEnd(`${completeStream()}data: garbage\n\n`) },
]

/** Some pieces of two bytes, to keep the test short where nothing is to be cut. */
function joinPairs(pieces: Buffer[]): Buffer[] {
  const start = bytes.indexOf('thére') - 2
  const end = bytes.indexOf('stop')
  return [bytes.subarray(0, start), ...pieces.slice(start, end), bytes.subarray(end)]
}

describe('a response that only looks like a fault does no harm', () => {
  test.for(HARMLESS)('$shape', async ({ shape, reply, text }) => {
    const a = await backend(reply)
    const router = await routerOver([a.url])
    const job = await router.sendRequest({ stream: true })
    expect(job.failure).toBeNull()
    expect(job.text()).toBe(text ?? GOOD_STREAM)
    expect(job.end?.usage).toEqual(GOOD_USAGE)
    page.row(shape, 'stream', '`served`', 'the first, whole', 'its own figures')
  })

  test.for(['stream', 'plain'] as const)(
    'a refusal of a parameter, which has another name there (%s)',
    async (mode) => {
      const a = await backend((response, request, socket) => {
        if (!('max_tokens' in request.body)) return goodChat(response, request, socket)
        const message = "Unsupported parameter: 'max_tokens' is not supported with this model."
        return sendJson(response, 400, { error: { message, param: 'max_tokens', code: 'unsupported_parameter' } })
      })
      const b = await backend(goodChat)
      const job = await (
        await routerOver([a.url, b.url])
      ).sendRequest({ stream: mode === 'stream', defaultMaxTokens: 5 })
      expect(job.text()).toBe(mode === 'stream' ? GOOD_STREAM : GOOD_PLAIN)
      expect(job.end).toMatchObject({
        usage: GOOD_USAGE,
        attempts: [
          { backend: 'a', outcome: 'http_400' },
          { backend: 'a', outcome: 'served' },
        ],
      })
      expect(b.seen).toHaveLength(0)
      page.row(
        'a 400 that names a parameter',
        mode,
        '`http_400`',
        'the first, called in another form',
        'its own figures',
      )
    },
  )

  test.each([
    ['no usage', undefined, 11],
    ['a usage that counts nothing of the text', { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 }, 7],
  ])('%s in a plain response: it is counted, marked, and written into the response', async (_, usage, promptTokens) => {
    const a = await backend((response) => response.end(JSON.stringify({ ...completion('one two three'), usage })))
    const job = await (await routerOver([a.url])).sendRequest()
    expect(job.end?.usage).toMatchObject({ promptTokens, completionTokens: 3, estimated: true })
    expect(JSON.parse(job.text())).toMatchObject({
      usage: { prompt_tokens: promptTokens, completion_tokens: 3, total_tokens: promptTokens + 3 },
    })
  })
})

const vector = (length: number) => Array.from({ length }, (_, i) => i / 1024)
const embeddings = (...lengths: number[]) => ({
  object: 'list',
  model: 'e',
  data: lengths.map((length, index) => ({ object: 'embedding', index, embedding: vector(length) })),
  usage: { prompt_tokens: 4, total_tokens: 4 },
})
const PNG = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.from('pixels')])
const image = (picture: Buffer) => ({
  created: 1,
  data: [{ b64_json: picture.toString('base64') }],
  usage: { input_tokens: 2, output_tokens: 5, total_tokens: 7 },
})
const json =
  (body: object): Reply =>
  (response) =>
    sendJson(response, 200, body)

const EMBED: Partial<JobHeader> = { kind: 'embeddings', needs: ['embeddings'] }
const IMAGE: Partial<JobHeader> = { kind: 'images', needs: ['images'] }

const OTHER_KINDS: { fault: string; header: Partial<JobHeader>; body: object; bad: Reply; good: Reply }[] = [
  {
    fault: 'a vector of 1024 numbers',
    header: EMBED,
    body: { input: ['x', 'y'] },
    bad: json(embeddings(768, 1024)),
    good: json(embeddings(768, 768)),
  },
  {
    fault: 'a vector too few',
    header: EMBED,
    body: { input: ['x', 'y'] },
    bad: json(embeddings(768)),
    good: json(embeddings(768, 768)),
  },
  {
    fault: 'a vector with a hole',
    header: EMBED,
    body: { input: 'x' },
    bad: json({ ...embeddings(768), data: [{ index: 0, embedding: [null, ...vector(767)] }] }),
    good: json(embeddings(768)),
  },
  {
    fault: 'the same position twice',
    header: EMBED,
    body: { input: ['x', 'y'] },
    bad: json({
      data: [
        { index: 0, embedding: vector(768) },
        { index: 0, embedding: vector(768) },
      ],
    }),
    good: json(embeddings(768, 768)),
  },
  {
    fault: 'a JPEG',
    header: IMAGE,
    body: { prompt: 'a cat' },
    bad: json(image(Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4, 5]))),
    good: json(image(PNG)),
  },
  {
    fault: 'no image',
    header: IMAGE,
    body: { prompt: 'a cat' },
    bad: json({ created: 1, data: [] }),
    good: json(image(PNG)),
  },
  {
    fault: 'an image elsewhere on the network',
    header: IMAGE,
    body: { prompt: 'a cat' },
    bad: json({ created: 1, data: [{ url: 'http://169.254.169.254/latest/meta-data' }] }),
    good: json(image(PNG)),
  },
]

describe('embeddings and images are judged before a byte goes out', () => {
  test.for(OTHER_KINDS)('$fault', async ({ fault, header, body, bad, good }) => {
    const a = await backend(bad)
    const b = await backend(good)
    const job = await (await routerOver([a.url, b.url])).sendRequest(header, body)
    expect(job.head?.backend).toBe('b')
    expect(job.end?.attempts).toMatchObject([{ outcome: 'invalid_answer' }, { outcome: 'served' }])
    page.row(fault, header.kind ?? '', '`invalid_answer`', 'the second, whole', 'its own figures')
  })

  test('vectors travel as base64 on request, for every dialect of the backend', async () => {
    const a = await backend(json(embeddings(768)))
    const job = await (
      await routerOver([a.url])
    ).sendRequest({ ...EMBED, encodingFormat: 'base64' }, { input: 'x', encoding_format: 'base64' })
    expect(a.seen[0]?.body).toEqual({ model: 'model-a', input: 'x' })
    const { data } = JSON.parse(job.text()) as { data: { embedding: string }[] }
    const decoded = Buffer.from(data[0]!.embedding, 'base64')
    expect(decoded.length).toBe(768 * 4)
    expect(decoded.readFloatLE(4 * 512)).toBe(0.5)
  })

  test('an image behind an address of the backend is brought inline', async () => {
    const a = await backend((response, request) => {
      if (request.path.endsWith('/generations'))
        return sendJson(response, 200, {
          created: 1,
          data: [{ url: '/files/1.png', revised_prompt: 'A cat' }],
          usage: USAGE,
        })
      return response.end(PNG)
    })
    const job = await (await routerOver([a.url])).sendRequest(IMAGE, { prompt: 'a cat' })
    expect(JSON.parse(job.text())).toMatchObject({
      data: [{ b64_json: PNG.toString('base64'), revised_prompt: 'A cat' }],
    })
    expect(job.text()).not.toContain('"url"')
  })

  test('many images behind addresses take the one connection of their request, and none waits to connect', async () => {
    const paths = Array.from({ length: 10 }, (_, index) => `/files/${index}.png`)
    let running = 0
    let most = 0
    const a = await backend(async (response, { path }) => {
      if (path.endsWith('/generations'))
        return sendJson(response, 200, { created: 1, data: paths.map((url) => ({ url })), usage: USAGE })
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 20))
      running--
      response.end(PNG)
    })
    const under = await router(poolOver([a.url], { backend: { maxConcurrent: 1 } }))
    const job = await under.sendRequest(IMAGE, { prompt: 'a cat', n: 10 })
    expect(job.end?.attempts).toMatchObject([{ outcome: 'served' }])
    expect(a.seen.map(({ path }) => path).slice(1)).toEqual(paths)
    expect(most).toBe(1)
  })
})

const LONE: {
  fault: string
  reply: Reply
  header?: Partial<JobHeader>
  /** More members of the backend's section in the config. */
  backend?: object
  outcome: string
  failure: object
  reported: string
  metered: string
}[] = [
  ...[429, 529].map((code) => ({
    fault: `status ${code} with retry-after: 30, as the only one`,
    reply: status(code, { 'retry-after': '30' }),
    outcome: `http_${code}`,
    failure: { code: 'UPSTREAMS_EXHAUSTED', retryAfterMs: expect.closeTo(28_000, -4) },
    reported: 'nobody: a 503 with the time left as `retry-after`',
    metered: 'nothing',
  })),
  ...[429, 500, 529].map((code) => ({
    fault: `status ${code} with retry-after: 30, as the only one, client and backend speak Messages`,
    reply: status(code, { 'retry-after': '30' }),
    header: { dialect: 'messages' as const },
    backend: { dialect: 'anthropic' },
    outcome: `http_${code}`,
    failure: {
      code: 'UPSTREAMS_EXHAUSTED',
      targetError: { status: code, body: `{"error":{"message":"status ${code}"}}` },
    },
    reported: `the first: a ${code} in its words, with its \`retry-after\``,
    metered: 'nothing',
  })),
  {
    fault: 'status 413, as the only one, client and backend speak Messages',
    reply: status(413),
    header: { dialect: 'messages' },
    backend: { dialect: 'anthropic' },
    outcome: 'http_413',
    failure: { code: 'BACKEND_REFUSED', targetError: { status: 413 } },
    reported: 'the first: a 413 in its words',
    metered: 'nothing',
  },
  {
    fault: 'slower than the client’s own timeout, as the only one',
    reply: () => {},
    header: { headWithinMs: 300 },
    outcome: 'out_of_time',
    failure: { clientTimedOut: true, usage: { promptTokens: 11, completionTokens: 0, estimated: true } },
    reported: 'nobody: a 408 `CLIENT_TIMEOUT`',
    metered: 'the prompt, estimated',
  },
  {
    fault: 'a 400 in gzip, as the only one',
    reply: (response) =>
      response
        .writeHead(400, { 'content-encoding': 'gzip' })
        .end(gzipSync(JSON.stringify({ error: { message: 'no such role' } }))),
    outcome: 'http_400',
    failure: { code: 'BACKEND_REFUSED', backendBody: '{"error":{"message":"no such role"}}' },
    reported: 'the first: a 400 in its words',
    metered: 'nothing',
  },
]

describe('an only backend', () => {
  test.for(LONE)('$fault', async ({ fault, reply, header, backend: settings = {}, ...expected }) => {
    const { outcome, failure, reported, metered } = expected
    const a = await backend(reply)
    const job = await (await router(poolOver([a.url], { backend: settings }))).sendRequest(header)
    expect(job.failure).toMatchObject({ ...failure, attempts: [{ outcome }] })
    page.row(fault, 'plain', `\`${outcome}\``, reported, metered)
  })

  test('refuses a flag of `anthropic-beta` with a 400', async () => {
    const a = await backend((response, { headers }) => {
      if (headers['anthropic-beta'] === undefined) return sendJson(response, 200, MESSAGE)
      const message = 'Unexpected value(s) `odd-2026-01-01` for the `anthropic-beta` header'
      return sendJson(response, 400, { type: 'error', error: { type: 'invalid_request_error', message } })
    })
    const under = await router(poolOver([a.url], { backend: { dialect: 'anthropic' } }))
    const job = await under.sendRequest({ dialect: 'messages', anthropicBeta: 'odd-2026-01-01' })
    expect(job.end).toMatchObject({ attempts: [{ outcome: 'http_400' }, { outcome: 'served' }], usage: GOOD_USAGE })
    expect(job.head!.droppedParams).toEqual(['anthropic-beta.odd-2026-01-01'])
    page.row(
      'a 400 that refuses a flag of `anthropic-beta`, as the only one',
      'plain',
      '`http_400`',
      'the first, called without the flag',
      'its own figures',
    )
  })

  test('fails at one request again and again, as another does, and serves all others', async () => {
    const poisoned: Reply = (response, request, socket) =>
      request.text.includes('poison') ? sendJson(response, 500, {}) : goodChat(response, request, socket)
    const [a, b, c] = [await backend(poisoned), await backend(poisoned), await backend(goodChat)]
    const under = await router(poolOver([a.url, b.url, c.url]))
    const sendRequest = (content: string) => under.sendRequest({}, { messages: [{ role: 'user', content }] })
    for (let i = 0; i < 4; i++) expect((await sendRequest('poison')).head?.backend).toBe('c')
    expect((await sendRequest('good')).head?.backend).toBe('a')
    page.row(
      'status 500 to one request, as the second does',
      'plain',
      '`http_500`',
      'the third; others: the first',
      'its own figures',
    )
  })
})

test('docs/fault-table.md states the observed outcomes, and no more', () => page.close())
