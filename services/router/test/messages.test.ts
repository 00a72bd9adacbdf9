/**
 * Clients of the Messages API in front of backends that speak it or chat: what goes wrong at the first one, and what the
 * client sees of it.
 */

import { describe, expect, test } from 'vitest'
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

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'backend-model',
  content: [{ type: 'text', text: 'Hello there' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 3 },
}
const named = (events: { type: string }[]) => events.map((one) => `event: ${one.type}\n${event(one)}`).join('')
const ROLE_OF_MESSAGE = [
  { type: 'message_start', message: { ...MESSAGE, content: [], usage: { input_tokens: 9, output_tokens: 1 } } },
]
const CONTENT = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
]
const END = [
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
]

type Spoken = 'chat' | 'messages'

/** The same answer as a backend of each dialect gives it. */
const BACKENDS: Record<Spoken, { plain: object; role: string; content: string; whole: string }> = {
  chat: { plain: completion(), role: ROLE, content: ROLE + chunk({ content: 'Hello' }), whole: wholeStream() },
  messages: {
    plain: MESSAGE,
    role: named(ROLE_OF_MESSAGE),
    content: named([...ROLE_OF_MESSAGE, ...CONTENT]),
    whole: named([...ROLE_OF_MESSAGE, ...CONTENT, ...END]),
  },
}
const DIALECTS = ['chat', 'messages'] as const

const good = (dialect: Spoken): Answer => {
  const { plain, whole } = BACKENDS[dialect]
  return (response, { body }) => {
    if (body['stream'] !== true) return sendJson(response, 200, plain)
    openStream(response)
    response.end(whole)
  }
}
const broken = (dialect: Spoken, after: 'role' | 'content'): Answer => {
  const { plain } = BACKENDS[dialect]
  return (response, { body }, socket) => {
    if (body['stream'] !== true) return response.end(JSON.stringify(plain).slice(0, 40))
    openStream(response)
    response.write(BACKENDS[dialect][after], () => setTimeout(() => socket.destroy(), 20))
  }
}

async function routerOver(backends: [dialect: Spoken, answer: Answer][], samePriority = false) {
  const opened = await Promise.all(backends.map(([, answer]) => backend(answer)))
  const urls = opened.map(({ url }) => url)
  const settings = backends.map(([dialect]) => ({
    dialect: dialect === 'messages' ? 'anthropic' : 'openai',
    headers: { 'anthropic-beta': 'ours' },
  }))
  const targets = samePriority ? backends.map(() => ({ priority: 1 })) : []
  const running = await router(poolOver(urls, { backends: settings, targets }))
  const header = {
    dialect: 'messages',
    includeUsage: true,
    anthropicVersion: '2024-01-01',
    anthropicBeta: 'theirs',
  } as const
  const ask = (stream: boolean, body: object = {}) =>
    running.ask({ ...header, stream }, { max_tokens: 50, messages: [{ role: 'user', content: 'Say hello' }], ...body })
  return { opened, ask }
}

interface Told {
  type: string
  usage?: object
}

function eventsOf(job: FakeJob): Told[] {
  const blocks = job
    .text()
    .split('\n\n')
    .filter((block) => block !== '')
  return blocks.map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 6)) as Told)
}

/** What the client has of an answer, and that it is one. */
function usageTold(job: FakeJob, stream: boolean): unknown {
  expect(job.failure).toBeNull()
  if (!stream) return (JSON.parse(job.text()) as typeof MESSAGE).usage
  const events = eventsOf(job)
  expect(events[0]!.type).toBe('message_start')
  expect(events.filter(({ type }) => type === 'message_stop')).toEqual([events.at(-1)])
  return events.at(-2)!.usage
}

const pairs = DIALECTS.flatMap((first) =>
  DIALECTS.flatMap((second) => [false, true].map((stream) => ({ first, second, stream }))),
)

describe('before content, a client sees nothing of a fault but the answer of the next backend, whatever its dialect', () => {
  test.each(pairs)('$first breaks off, $second answers (stream: $stream)', async ({ first, second, stream }) => {
    const { ask } = await routerOver([
      [first, broken(first, 'role')],
      [second, good(second)],
    ])
    const job = await ask(stream)
    expect(usageTold(job, stream)).toMatchObject({ output_tokens: 3 })
    expect(job.end).toMatchObject({
      usage: { promptTokens: 9, completionTokens: 3, estimated: false },
      attempts: [
        { backend: 'a', outcome: stream ? 'reset' : 'invalid_answer' },
        { backend: 'b', outcome: 'served' },
      ],
    })
  })

  test.each([429, 500, 529])('status %i', async (status) => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'no' } }
    const { ask } = await routerOver([
      ['messages', (response) => sendJson(response, status, error)],
      ['chat', goodChat],
    ])
    const job = await ask(true)
    expect(usageTold(job, true)).toMatchObject({ input_tokens: 9, output_tokens: 3 })
    expect(job.end?.attempts).toMatchObject([{ outcome: `http_${status}` }, { outcome: 'served' }])
  })

  test('an error event', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'no' } }
    const { ask } = await routerOver([
      [
        'messages',
        (response) => {
          openStream(response)
          response.end(named([...ROLE_OF_MESSAGE, error]))
        },
      ],
      ['chat', goodChat],
    ])
    const job = await ask(true)
    expect(usageTold(job, true)).toMatchObject({ output_tokens: 3 })
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
    expect(eventsOf(job).at(-1)!.type).toBe('content_block_delta')
    expect(job.end).toBeNull()
    expect(job.failure).toMatchObject({
      code: 'UPSTREAMS_EXHAUSTED',
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
    expect(usageTold(job, stream)).toMatchObject({ input_tokens: 11, output_tokens: usage.completionTokens })
  })
})

test('a backend that speaks the dialect gets the client’s bytes, version and features, and its own bytes come back', async () => {
  const { opened, ask } = await routerOver([['messages', good('messages')]])
  const job = await ask(true, { container: 'c' })
  expect(job.text()).toBe(BACKENDS.messages.whole)
  const { text, headers, path } = opened[0]!.seen[0]!
  const own = '"max_tokens":50,"messages":[{"role":"user","content":"Say hello"}],"container":"c"}'
  expect([path, text]).toEqual(['/v1/messages', `{"model":"model-a","stream":true,${own}`])
  expect(headers).toMatchObject({ 'anthropic-version': '2024-01-01', 'anthropic-beta': 'ours,theirs' })
})

test('a backend that speaks chat hears nothing of the API’s own headers', async () => {
  const { opened, ask } = await routerOver([['chat', goodChat]])
  const job = await ask(false, { container: 'c' })
  expect(job.head!.droppedParams).toEqual(['container'])
  expect(opened[0]!.seen[0]!.headers).not.toHaveProperty('anthropic-version')
})

test('a request that chat cannot express is refused with the name of its field, and nobody is asked', async () => {
  const { opened, ask } = await routerOver([['chat', goodChat]])
  const upload = [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }]
  const { failure } = await ask(false, { messages: upload })
  expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
  expect(failure!.backendBody).toContain('messages[0].content[0].type')
  expect(opened[0]!.seen).toHaveLength(0)
})

test('among equals the backend that speaks the dialect goes first', async () => {
  const { opened, ask } = await routerOver(
    [
      ['chat', goodChat],
      ['messages', good('messages')],
    ],
    true,
  )
  for (let i = 0; i < 4; i++) await ask(false)
  expect(opened.map(({ seen }) => seen.length)).toEqual([0, 4])
})

test.each(DIALECTS)('what a backend that speaks %s refuses is learnt and left out', async (dialect) => {
  const { opened, ask } = await routerOver([
    [
      dialect,
      (response, request, socket) => {
        if (!('top_k' in request.body)) return good(dialect)(response, request, socket)
        const message =
          dialect === 'chat' ? 'Unrecognized request argument supplied: top_k' : '`top_k` is deprecated for this model.'
        return sendJson(response, 400, { error: { type: 'invalid_request_error', message } })
      },
    ],
  ])
  for (const attempts of [2, 1]) {
    const job = await ask(false, { top_k: 5 })
    expect(job.end?.attempts).toHaveLength(attempts)
    expect(job.head!.droppedParams).toEqual(['top_k'])
  }
  expect(opened[0]!.seen).toHaveLength(3)
})
