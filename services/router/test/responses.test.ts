/**
 * Clients of the Responses API in front of backends of every dialect: what goes wrong at the first one, and what the client
 * sees of it.
 */

import { describe, expect, test } from 'vitest'
import type { ApiDialect } from '@gateway/contracts/vendors'
import {
  chunk,
  completion,
  event,
  goodChat,
  openStream,
  ROLE,
  sendJson,
  wholeStream,
  type Answer,
} from './http-backend.ts'
import type { FakeJob } from './fake-job.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const MESSAGE = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' }
const text = (said: string) => ({ type: 'output_text', text: said, annotations: [] })
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'backend-model',
  output: [{ ...MESSAGE, content: [text('Hello there')] }],
  usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
}
const named = (events: { type: string }[]) =>
  events.map((one, sequence_number) => `event: ${one.type}\n${event({ ...one, sequence_number })}`).join('')
const OWN_ROLE = [
  { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { ...MESSAGE, content: [] } },
]
const OWN_CONTENT = [
  { type: 'response.content_part.added', item_id: 'msg_1', output_index: 0, content_index: 0, part: text('') },
  {
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta: 'Hello',
    logprobs: [],
  },
]
const OWN_END = [
  { type: 'response.output_item.done', output_index: 0, item: RESPONSE.output[0] },
  { type: 'response.completed', response: RESPONSE },
]
const CLAUDE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'backend-model',
  content: [{ type: 'text', text: 'Hello there' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 9, output_tokens: 3 },
}
const CLAUDE_ROLE = [
  { type: 'message_start', message: { ...CLAUDE, content: [], usage: { input_tokens: 9, output_tokens: 1 } } },
]
const CLAUDE_CONTENT = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
]
const CLAUDE_END = [
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
]

interface Backend {
  plain: object
  role: string
  content: string
  whole: string
}

/** The same answer as a backend of each dialect gives it. */
const BACKENDS: Record<ApiDialect, Backend> = {
  chat: { plain: completion(), role: ROLE, content: ROLE + chunk({ content: 'Hello' }), whole: wholeStream() },
  responses: {
    plain: RESPONSE,
    role: named(OWN_ROLE),
    content: named([...OWN_ROLE, ...OWN_CONTENT]),
    whole: named([...OWN_ROLE, ...OWN_CONTENT, ...OWN_END]),
  },
  messages: {
    plain: CLAUDE,
    role: named(CLAUDE_ROLE),
    content: named([...CLAUDE_ROLE, ...CLAUDE_CONTENT]),
    whole: named([...CLAUDE_ROLE, ...CLAUDE_CONTENT, ...CLAUDE_END]),
  },
}
const DIALECTS = Object.keys(BACKENDS) as ApiDialect[]
const PATHS: Record<ApiDialect, string> = { chat: '/chat/completions', responses: '/responses', messages: '/messages' }

const good = (dialect: ApiDialect): Answer => {
  const { plain, whole } = BACKENDS[dialect]
  return (response, { body }) => {
    if (body.stream !== true) return sendJson(response, 200, plain)
    openStream(response)
    response.end(whole)
  }
}
const broken = (dialect: ApiDialect, after: 'role' | 'content'): Answer => {
  const { plain } = BACKENDS[dialect]
  return (response, { body }, socket) => {
    if (body.stream !== true) return response.end(JSON.stringify(plain).slice(0, 40))
    openStream(response)
    response.write(BACKENDS[dialect][after], () => setTimeout(() => socket.destroy(), 20))
  }
}

async function routerOver(backends: [dialect: ApiDialect, answer: Answer][]) {
  const opened = await Promise.all(backends.map(([, answer]) => backend(answer)))
  const settings = backends.map(([dialect]) => ({
    dialect: dialect === 'messages' ? 'anthropic' : 'openai',
    dialects: [dialect],
  }))
  const running = await router(
    poolOver(
      opened.map(({ url }) => url),
      { backends: settings },
    ),
  )
  const ask = (stream: boolean, body: object = {}) =>
    running.ask({ dialect: 'responses', stream, includeUsage: true }, { input: 'Say hello', store: false, ...body })
  return { opened, ask }
}

interface Told {
  type: string
  sequence_number: number
  response?: typeof RESPONSE
}

function eventsOf(job: FakeJob): Told[] {
  const blocks = job
    .text()
    .split('\n\n')
    .filter((block) => block !== '')
  return blocks.map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 6)) as Told)
}

/** What the client has of an answer, and that it is one. */
function answered(job: FakeJob, stream: boolean): typeof RESPONSE {
  expect(job.failure).toBeNull()
  if (!stream) return JSON.parse(job.text()) as typeof RESPONSE
  const events = eventsOf(job)
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index))
  expect(events.filter(({ type }) => type === 'response.completed')).toEqual([events.at(-1)])
  return events.at(-1)!.response!
}

const WHOLE = {
  object: 'response',
  status: 'completed',
  usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
}
const pairs = DIALECTS.flatMap((first) =>
  DIALECTS.flatMap((second) => [false, true].map((stream) => ({ first, second, stream }))),
)

describe('before content, a client sees nothing of a fault but the answer of the next backend, whatever its dialect', () => {
  test.each(pairs)('$first breaks off, $second answers (stream: $stream)', async ({ first, second, stream }) => {
    const { opened, ask } = await routerOver([
      [first, broken(first, 'role')],
      [second, good(second)],
    ])
    const job = await ask(stream)
    expect(answered(job, stream)).toMatchObject(WHOLE)
    expect(opened.map(({ seen }) => seen.map(({ path }) => path.replace('/v1', '')))).toEqual([
      [PATHS[first]],
      [PATHS[second]],
    ])
    expect(job.end).toMatchObject({
      usage: { promptTokens: 9, completionTokens: 3, estimated: false },
      attempts: [
        { backend: 'a', outcome: stream ? 'reset' : 'invalid_answer' },
        { backend: 'b', outcome: 'served' },
      ],
    })
  })

  test.each([429, 500, 529])('status %i', async (status) => {
    const refuses: Answer = (response) => sendJson(response, status, { error: { message: 'no' } })
    const { ask } = await routerOver([
      ['responses', refuses],
      ['chat', goodChat],
    ])
    const job = await ask(true)
    expect(answered(job, true)).toMatchObject(WHOLE)
    expect(job.end?.attempts).toMatchObject([{ outcome: `http_${status}` }, { outcome: 'served' }])
  })

  test('a failed response', async () => {
    const failed = { ...RESPONSE, status: 'failed', output: [], error: { code: 'server_error', message: 'no' } }
    const { ask } = await routerOver([
      [
        'responses',
        (response) => {
          openStream(response)
          response.end(named([...OWN_ROLE, { type: 'response.failed', response: failed } as { type: string }]))
        },
      ],
      ['chat', goodChat],
    ])
    const job = await ask(true)
    expect(answered(job, true)).toMatchObject(WHOLE)
    expect(job.end?.attempts).toMatchObject([{ outcome: 'error_event' }, { outcome: 'served' }])
  })
})

describe.each(DIALECTS)('a backend that speaks %s', (dialect) => {
  test('breaks off after content: no terminal event, and what was shown is metered', async () => {
    const { opened, ask } = await routerOver([
      [dialect, broken(dialect, 'content')],
      ['chat', goodChat],
    ])
    const job = await ask(true)
    const events = eventsOf(job)
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index))
    expect(events.at(-1)!.type).toBe('response.output_text.delta')
    expect(job.end).toBeNull()
    expect(job.failure).toMatchObject({
      code: 'UPSTREAMS_EXHAUSTED',
      attempts: [{ backend: 'a', outcome: 'reset' }],
      usage: { promptTokens: dialect === 'messages' ? 9 : 11, completionTokens: 1, estimated: true },
    })
    expect(opened[1]!.seen).toHaveLength(0)
  })

  test.each([false, true])('leaves the usage out: it is counted, and told (stream: %s)', async (stream) => {
    const without = (words: string) => words.replace(/,?"usage":\{[^}]*\}/g, '')
    const { plain, whole } = BACKENDS[dialect]
    const { ask } = await routerOver([
      [
        dialect,
        (response) => {
          if (!stream) return response.end(without(JSON.stringify(plain)))
          openStream(response)
          return response.end(without(whole))
        },
      ],
    ])
    const job = await ask(stream)
    const { usage } = job.end!
    expect(usage).toMatchObject({ promptTokens: 11, estimated: true })
    expect(usage.completionTokens).toBeGreaterThan(0)
    expect(answered(job, stream).usage).toMatchObject({
      input_tokens: usage.promptTokens,
      output_tokens: usage.completionTokens,
      total_tokens: usage.promptTokens + usage.completionTokens,
    })
  })

  test("refuses the request: its words reach the client, in the one shape of the router's refusals", async () => {
    const refusal =
      dialect === 'messages'
        ? { type: 'error', error: { type: 'invalid_request_error', message: 'too odd' } }
        : { error: { type: 'invalid_request_error', message: 'too odd' } }
    const { ask } = await routerOver([[dialect, (response) => sendJson(response, 400, refusal)]])
    const job = await ask(true)
    expect(job.failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
    expect(JSON.parse(job.failure!.backendBody!)).toMatchObject({ error: { message: 'too odd' } })
  })
})

test('a tool that only a vendor runs stays with a backend of the same dialect, and is told where it is left out', async () => {
  const { opened, ask } = await routerOver([
    ['responses', (response) => sendJson(response, 500, {})],
    ['chat', goodChat],
  ])
  const job = await ask(false, { tools: [{ type: 'web_search' }] })
  expect(opened.map(({ seen }) => seen[0]!.body['tools'])).toEqual([[{ type: 'web_search' }], undefined])
  expect(job.head?.droppedParams).toEqual(['tools.web_search'])
})

test('a stream that ends without a finish reason or an end is no answer', async () => {
  const { ask } = await routerOver([
    [
      'chat',
      (response) => {
        openStream(response)
        response.end(ROLE + chunk({ content: 'Hello' }))
      },
    ],
  ])
  const job = await ask(true)
  expect(eventsOf(job).at(-1)!.type).toBe('response.output_text.delta')
  expect(job.failure).toMatchObject({ attempts: [{ outcome: 'truncated' }] })
})

test('a target that refuses a name that the translation wrote is asked by the other one', async () => {
  const refuses: Answer = (response, request, socket) => {
    if (!('max_completion_tokens' in request.body)) return goodChat(response, request, socket)
    const message = "Unsupported parameter: 'max_completion_tokens'"
    const error = { message, param: 'max_completion_tokens', code: 'unsupported_parameter' }
    return sendJson(response, 400, { error })
  }
  const { opened, ask } = await routerOver([
    ['chat', refuses],
    ['chat', goodChat],
  ])
  const job = await ask(true, { max_output_tokens: 7 })
  expect(answered(job, true)).toMatchObject(WHOLE)
  expect(opened[0]!.seen.map(({ body }) => [body['max_completion_tokens'], body['max_tokens']])).toEqual([
    [7, undefined],
    [undefined, 7],
  ])
  expect(opened[1]!.seen).toHaveLength(0)
})

test.each<[string, ApiDialect, object]>([
  ['tool_choice', 'chat', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }],
  ['prompt', 'messages', { prompt: { id: 'p' } }],
])(
  '%s, which no %s backend could answer, is refused with its name, and no backend is asked',
  async (field, dialect, body) => {
    const { opened, ask } = await routerOver([[dialect, good(dialect)]])
    const { failure } = await ask(true, body)
    expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
    expect(JSON.parse(failure!.backendBody!)).toMatchObject({ error: { param: field } })
    expect(opened[0]!.seen).toHaveLength(0)
  },
)
