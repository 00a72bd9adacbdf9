/**
 * The table of odd responses: they are neither good nor plain failures. Each row states whether the router calls
 * another target, whether the backend's health suffers, and the client's view.
 *
 * The test judges health by four requests, one after the other: it counts those that still go to that backend.
 */

import { describe, expect, test } from 'vitest'
import { faultPageSection } from '@gateway/testing/fault-page'
import type { JobHeader } from '@gateway/contracts/job'
import { endlessBody, endlessStream, nested, sendOver } from './endless.ts'
import type { FakeJob } from './fake-job.ts'
import { chunk, completion, DONE, event, openStream, ROLE, sendJson, STOP, type Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { requestOf, goodResponse, PNG, type RequestKind } from './well-behaved.ts'

const page = faultPageSection('responses', [
  'The first backend returns …',
  'Request',
  'Next target',
  'Its health',
  'The client sees',
])

interface Row {
  replies: string
  requestKind: RequestKind
  reply: Reply
  /** The settings of the first and second backend. */
  backends?: [object, object]
  /** Instead of a good one. */
  secondResponse?: Reply
  header?: Partial<JobHeader>
  body?: object
  next: 'called' | 'not called'
  health: 'untouched' | 'out after three in a row' | 'out at once'
  sees: string
}

const SOON_LEFT = { timeouts: { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000 } }
const THE_FIRST = 'the response of the first'
const THE_SECOND = 'the response of the second'
const BROKEN_OFF = 'the text before, then an error event'

const stream = (...events: string[]): Reply => {
  return (response) => {
    openStream(response)
    response.end(events.join(''))
  }
}
const streamInPieces = (...events: string[]): Reply => {
  return async (response) => {
    openStream(response)
    for (const one of events) {
      response.write(one)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    response.end()
  }
}
const json = (status: number, body: object): Reply => {
  return (response) => sendJson(response, status, body)
}

const ERROR = { code: 502, message: 'Provider disconnected' }
const withChoices = (extra: object, finishReason: string | null, delta: object = { content: '' }): string =>
  event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    ...extra,
    ...choices(finishReason, delta),
  })
const choices = (finishReason: string | null, delta: object, extra: object = {}): object => ({
  choices: [{ index: 0, delta, finish_reason: finishReason, ...extra }],
})

/** The forms in which servers and aggregators report an error within a stream. */
const ERROR_EVENTS: [string, string][] = [
  ['an event with an error', event({ error: ERROR })],
  ['an error beside choices that finish by `error`', withChoices({ error: ERROR }, 'error')],
  ['an error beside choices that finish by `stop`', withChoices({ error: ERROR }, 'stop')],
  ['an error beside choices with content', withChoices({ error: ERROR }, null, { content: 'half a w' })],
  ['an error as a text beside choices', withChoices({ error: 'out of memory' }, null)],
  ['the finish reason `error` and nothing else', withChoices({}, 'error')],
  ['the finish reason `abort` and nothing else', withChoices({}, 'abort')],
  ['an error within a choice', event(choices('stop', { content: '' }, { error: ERROR }))],
  [
    'an object of the kind `error`',
    event({ object: 'error', message: 'CUDA', type: 'InternalServerError', code: 500 }),
  ],
  ['an event named `error` that is no JSON', 'event: error\ndata: upstream connect error\n\n'],
  ['an event named `error`', `event: error\n${event({ message: 'overloaded' })}`],
  ['an error as Anthropic writes it', event({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } })],
]

const SOFT = { next: 'called', health: 'out after three in a row', sees: THE_SECOND } as const

const rows: Row[] = [
  ...ERROR_EVENTS.map(([name, text]): Row => {
    return { replies: `${name}, before content`, requestKind: 'stream', reply: stream(ROLE, text, DONE), ...SOFT }
  }),
  ...ERROR_EVENTS.map(([name, text]): Row => {
    const reply = streamInPieces(ROLE, chunk({ content: 'Hel' }), text + DONE)
    return {
      replies: `${name}, after content`,
      requestKind: 'stream',
      reply,
      ...SOFT,
      next: 'not called',
      sees: BROKEN_OFF,
    }
  }),
  {
    replies: 'an error after the last finish reason',
    requestKind: 'stream',
    reply: streamInPieces(ROLE, chunk({ content: 'Hel' }), STOP, event({ error: ERROR }) + DONE),
    ...SOFT,
    next: 'not called',
    sees: BROKEN_OFF,
  },
  ...(['plain', 'embeddings', 'images'] as const).flatMap((requestKind): Row[] => [
    { replies: '200 and an error', requestKind, reply: json(200, { error: ERROR }), ...SOFT },
    {
      replies: '200, an error and a response',
      requestKind,
      reply: json(200, { ...goodResponse(requestKind), error: ERROR }),
      ...SOFT,
    },
    {
      replies: '200 and an object of the kind `error`',
      requestKind,
      reply: json(200, { object: 'error', message: 'CUDA', code: 500 }),
      ...SOFT,
    },
  ]),
  {
    replies: '200 and a choice that finished by `error`',
    requestKind: 'plain',
    reply: json(200, {
      ...completion(),
      choices: [{ index: 0, message: { content: 'Hel' }, finish_reason: 'error' }],
    }),
    ...SOFT,
  },
  {
    replies: '200 and a choice that finished by `abort`',
    requestKind: 'plain',
    reply: json(200, {
      ...completion(),
      choices: [{ index: 0, message: { content: 'Hel' }, finish_reason: 'abort' }],
    }),
    ...SOFT,
  },
  {
    replies: '200 and an error within a choice',
    requestKind: 'plain',
    reply: json(200, {
      ...completion(),
      choices: [{ index: 0, message: { content: 'Hel' }, finish_reason: 'stop', error: ERROR }],
    }),
    ...SOFT,
  },
  {
    replies: 'chunks with an empty `error`',
    requestKind: 'stream',
    reply: stream(
      ROLE,
      withChoices({ error: null }, null, { content: 'Hi' }),
      withChoices({ error: '' }, 'stop'),
      DONE,
    ),
    next: 'not called',
    health: 'untouched',
    sees: THE_FIRST,
  },
]

const OTHER_KIND: [object, object] = [{}, { capabilities: ['chat', 'tools', 'vision', 'embeddings', 'images'] }]
const ANTHROPIC_FIRST: [object, object] = [{ dialect: 'anthropic' }, {}]
const refusal = (status: number, message: string) => json(status, { error: { message, type: 'invalid_request_error' } })
const MODERATED = {
  error: {
    code: 403,
    message: 'openai/gpt-4o requires moderation. Your input was flagged.',
    metadata: { reasons: ['violence'], flagged_input: 'How do I', provider_name: 'OpenAI', model_slug: 'gpt-4o' },
  },
}

/** By which vendors report with a 400 that our own account or credential is the trouble. */
const ACCOUNT_TROUBLES: [string, object, 'out at once' | 'out after three in a row'][] = [
  [
    'a bad key (Gemini)',
    {
      error: {
        code: 400,
        message: 'API key not valid. Please pass a valid API key.',
        status: 'INVALID_ARGUMENT',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
      },
    },
    'out at once',
  ],
  [
    'a bad key in a list (Gemini for OpenAI clients)',
    [{ error: { code: 400, message: 'API Key not found. Please pass a valid API key.', status: 'INVALID_ARGUMENT' } }],
    'out at once',
  ],
  [
    'an expired key (Gemini)',
    { error: { code: 400, message: 'API key expired. Please renew the API key.' } },
    'out at once',
  ],
  [
    'a place that is not served (Gemini)',
    { error: { code: 400, message: 'User location is not supported for the API use.', status: 'FAILED_PRECONDITION' } },
    'out at once',
  ],
  [
    'a bad key (xAI)',
    { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: na***ys. You can obtain one' },
    'out at once',
  ],
  [
    'a disabled organisation (Anthropic)',
    { type: 'error', error: { type: 'invalid_request_error', message: 'This organization has been disabled.' } },
    'out at once',
  ],
  [
    'a bad signature (Bedrock)',
    { __type: 'IncompleteSignature', message: 'The request signature does not' },
    'out at once',
  ],
  [
    "another vendor's bad key (OpenRouter)",
    {
      error: {
        code: 400,
        message: 'Provider returned error',
        metadata: { raw: '{"error":{"message":"API key not valid."}}' },
      },
    },
    'out at once',
  ],
  [
    'no credit (Anthropic)',
    { type: 'error', error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access' } },
    'out after three in a row',
  ],
  [
    'a spent limit (Anthropic)',
    { type: 'error', error: { message: 'You have reached your specified API usage limits. You will regain access' } },
    'out after three in a row',
  ],
  [
    'a spent limit (OpenAI)',
    { error: { code: 'billing_hard_limit_reached', message: 'Billing hard limit has been reached' } },
    'out after three in a row',
  ],
]

const JINJA = 'Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...'
const OWN_FAULT = { requestKind: 'plain', health: 'untouched' } as const

rows.push(
  ...[400, 406, 413, 414, 415, 422, 424, 431, 451].flatMap((status): Row[] => [
    {
      replies: `status ${status}`,
      ...OWN_FAULT,
      reply: refusal(status, 'no such role'),
      next: 'not called',
      sees: '400: no such role',
    },
    {
      replies: `status ${status}, and the second is of another kind`,
      ...OWN_FAULT,
      reply: refusal(status, 'no such role'),
      backends: OTHER_KIND,
      next: 'called',
      sees: THE_SECOND,
    },
  ]),
  {
    replies: 'status 400, and the second of another kind returns 400',
    ...OWN_FAULT,
    reply: refusal(400, 'no such role'),
    backends: OTHER_KIND,
    secondResponse: refusal(400, 'unknown role'),
    next: 'called',
    sees: '400: no such role',
  },
  {
    replies: 'status 400, and the second of another kind returns 500',
    ...OWN_FAULT,
    reply: refusal(400, 'no such role'),
    backends: OTHER_KIND,
    secondResponse: json(500, {}),
    next: 'called',
    sees: '400: no such role',
  },
  {
    replies: 'status 500, and the second of another kind returns 400',
    ...OWN_FAULT,
    reply: json(500, { error: { message: 'Internal Server Error' } }),
    backends: OTHER_KIND,
    secondResponse: refusal(400, 'no such image'),
    next: 'called',
    sees: '400: no such image',
  },
  {
    replies: 'nothing: its dialect cannot request two choices, and that of the second can',
    ...OWN_FAULT,
    body: { messages: [{ role: 'user', content: 'Say hello' }], n: 2 },
    reply: refusal(500, 'called'),
    backends: ANTHROPIC_FIRST,
    next: 'called',
    sees: THE_SECOND,
  },
  {
    replies: 'nothing: neither dialect can request two choices',
    ...OWN_FAULT,
    body: { messages: [{ role: 'user', content: 'Say hello' }], n: 2 },
    reply: refusal(500, 'called'),
    backends: [{ dialect: 'anthropic' }, { dialect: 'anthropic' }],
    next: 'not called',
    sees: '400: n must be 1 for this model',
  },
  ...ACCOUNT_TROUBLES.map(([name, said, health]): Row => {
    return {
      replies: `400 for ${name}`,
      requestKind: 'plain',
      reply: json(400, said),
      next: 'called',
      health,
      sees: THE_SECOND,
    }
  }),
  {
    replies: '200 with an error 400 for a bad key',
    requestKind: 'stream',
    reply: stream(event({ error: { code: 400, message: 'API key not valid. Please pass a valid API key.' } })),
    next: 'called',
    health: 'out at once',
    sees: THE_SECOND,
  },
  {
    replies: '400 with words about a bad key that its client wrote',
    ...OWN_FAULT,
    body: { messages: [{ role: 'user', content: 'API key not valid. Please pass a valid API key.' }] },
    reply: refusal(400, 'API key not valid. Please pass a valid API key.'),
    next: 'called',
    sees: THE_SECOND,
  },
  {
    replies: '403 for flagged input (OpenRouter)',
    ...OWN_FAULT,
    reply: json(403, MODERATED),
    next: 'not called',
    sees: '400: openai/gpt-4o requires moderation. Your input was flagged.',
  },
  {
    replies: '403 for flagged input (xAI)',
    ...OWN_FAULT,
    reply: json(403, { code: 'permission-denied', error: 'Content violates usage guidelines.' }),
    next: 'not called',
    sees: '400: Content violates usage guidelines.',
  },
  {
    replies: '404 for an image that no model there takes (OpenRouter)',
    ...OWN_FAULT,
    reply: json(404, { error: { message: 'No endpoints found that support image input', code: 404 } }),
    next: 'not called',
    sees: '400: No endpoints found that support image input',
  },
  {
    replies: '404 for a file that its client named',
    ...OWN_FAULT,
    body: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-AbC123dEf456' } }] }] },
    reply: json(404, { error: { message: 'there is no file-AbC123dEf456', type: 'not_found_error' } }),
    next: 'called',
    sees: THE_SECOND,
  },
  {
    replies: '500 for a conversation that its template refuses (llama.cpp)',
    ...OWN_FAULT,
    reply: json(500, { error: { code: 500, message: `line 1 in source\nError: ${JINJA}`, type: 'server_error' } }),
    next: 'called',
    sees: THE_SECOND,
  },
  {
    replies: 'an event with an error for a conversation that its template refuses (LM Studio)',
    requestKind: 'stream',
    reply: stream(`event: error\n${event({ error: { message: `predict request returned 500: ${JINJA}` } })}`),
    next: 'called',
    health: 'untouched',
    sees: THE_SECOND,
  },
  {
    replies: '200 with an error 400, no stream',
    requestKind: 'stream',
    reply: json(200, { error: { message: 'no such role', code: 400 } }),
    next: 'not called',
    health: 'untouched',
    sees: '400: no such role',
  },
  {
    replies: 'status 201 and a response',
    requestKind: 'plain',
    reply: json(201, completion()),
    next: 'not called',
    health: 'untouched',
    sees: THE_FIRST,
  },
)

const vectorsIn = (extra: string) => `${JSON.stringify(goodResponse('embeddings')).slice(0, -1)},"x":${extra}}`
const raw =
  (text: string, status = 200): Reply =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
const addresses = (count: number) => ({
  created: 1,
  data: Array.from({ length: count }, (_, i) => ({ url: `/${i}.png` })),
})

rows.push(
  { replies: 'an event without end', requestKind: 'stream', reply: endlessStream('x', 'data: '), ...SOFT },
  { replies: 'a comment without end', requestKind: 'stream', reply: endlessStream('x', ': '), ...SOFT },
  {
    replies: 'chunks without content, without end',
    requestKind: 'stream',
    backends: [SOON_LEFT, {}],
    reply: endlessStream(ROLE),
    ...SOFT,
  },
  {
    replies: 'a body without end',
    requestKind: 'plain',
    header: { remainingMs: 60_000 },
    reply: endlessBody(200, '{"choices":"', 'x'),
    ...SOFT,
  },
  { replies: 'status 500 and a body without end', requestKind: 'plain', reply: endlessBody(500, '"', 'x'), ...SOFT },
  {
    replies: 'headers of a megabyte',
    requestKind: 'plain',
    reply: (_, __, socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(1024 * 1024)}\r\n\r\n{}`),
    ...SOFT,
  },
  {
    replies: 'trailers of a megabyte',
    requestKind: 'plain',
    reply: (_, __, socket) =>
      socket.end(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx: ${'x'.repeat(1024 * 1024)}\r\n\r\n`,
      ),
    ...SOFT,
  },
  {
    replies: 'interim responses without end',
    requestKind: 'plain',
    backends: [SOON_LEFT, {}],
    reply: async (response) => {
      while (!response.destroyed) {
        response.writeEarlyHints({ link: '</x>; rel=preload' })
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    ...SOFT,
  },
  {
    replies: 'vectors beside arrays that are nested a million times',
    requestKind: 'embeddings',
    header: { encodingFormat: 'base64' },
    reply: raw(vectorsIn(nested(1_000_000))),
    next: 'not called',
    health: 'untouched',
    sees: THE_FIRST,
  },
  {
    replies: 'status 400 and arrays that are nested 30,000 times',
    ...OWN_FAULT,
    reply: raw(`{"x":${nested(30_000)},"error":{"message":"no such role"}}`, 400),
    next: 'not called',
    sees: '400: no such role',
  },
  { replies: 'a thousand images behind addresses', requestKind: 'images', reply: json(200, addresses(1_000)), ...SOFT },
  {
    replies: 'an image without end behind an address',
    requestKind: 'images',
    reply: (response, request, socket) =>
      request.path.endsWith('.png')
        ? endlessBody(200, PNG.toString('latin1'), 'x')(response, request, socket)
        : sendJson(response, 200, addresses(1)),
    ...SOFT,
  },
)

describe('odd responses', () => {
  test.for(rows)('$replies ($requestKind)', async (row) => {
    const { replies, requestKind, reply, backends, secondResponse, next, health, sees } = row
    const a = await backend(reply)
    const b = await backend(secondResponse ?? ((response, request) => requestOf(requestKind).good(response, request)))
    const under = await router(poolOver([a.url, b.url], { backends: backends ?? [{}, {}] }))
    const header = { ...requestOf(requestKind).header, ...row.header }
    const body = row.body ?? requestOf(requestKind).body
    const first = await under.sendRequest(header, body)
    const jobs = [first]
    const seen = { next: b.seen.length > 0 ? 'called' : 'not called', sees: seenBy(first) }
    while (jobs.length < 4) jobs.push(await under.sendRequest(header, body))
    const wasRequested = jobs.filter((job) => attemptsOf(job).some(({ backend }) => backend === 'a')).length
    expect({ ...seen, health: HEALTH_BY_REQUESTS[wasRequested] }).toEqual({ next, sees, health })
    page.row(replies, requestKind, next, health, sees)
  })
})

/** The number of requests, of four, that went to the backend. */
const HEALTH_BY_REQUESTS: Record<number, Row['health']> = {
  1: 'out at once',
  3: 'out after three in a row',
  4: 'untouched',
}

const attemptsOf = (job: FakeJob) => job.end?.attempts ?? job.failure?.attempts ?? []

function seenBy(job: FakeJob): string {
  if (job.end) return job.head?.backend === 'a' ? THE_FIRST : THE_SECOND
  if (job.head) return job.text().includes('finish_reason":"') ? 'a complete response that is none' : BROKEN_OFF
  const { code, backendBody } = job.failure!
  if (code !== 'BACKEND_REFUSED') return code
  const { error } = JSON.parse(backendBody ?? '{}') as { error?: { message?: string } | string }
  return `400: ${typeof error === 'string' ? error : error?.message}`
}

test('chunks without content before the first content are not kept without bound, and their first one is', async () => {
  const a = await backend(async (response) => {
    openStream(response)
    response.write(ROLE)
    await sendOver(response, withChoices({}, null), 64 * 1024 * 1024)
    response.end(chunk({ content: 'Hello' }) + STOP + DONE)
  })
  const job = await (await router(poolOver([a.url]))).sendRequest({ stream: true, remainingMs: 25_000 })
  expect(job.end?.attempts).toMatchObject([{ outcome: 'served' }])
  expect(job.text().startsWith(ROLE)).toBe(true)
  expect(job.text().endsWith(chunk({ content: 'Hello' }) + STOP)).toBe(true)
  expect(job.text().length).toBeLessThan(256 * 1024)
})

test('docs/fault-table.md states the observed outcomes, and no more', () => page.close())
