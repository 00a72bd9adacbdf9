/**
 * A response takes time in proportion to its bytes, for all kinds of content. A test writes each kind of item thousands of
 * times, once and twice as often, in a complete response and in a stream. It covers the way from each target's dialect to each
 * client's.
 */

import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { cpuGrowth, LINEAR_BELOW } from '@gateway/testing/cpu-growth'
import { BackendFault } from '../src/core/backend-fault.ts'
import { createSseParser } from '@gateway/sse/parse-events'
import { dialectRoute } from '../src/dialects/dialects.ts'

const many = <Item>(count: number, item: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => item(at))

const USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 }
const chatCall = (at: number, args = '{}') => ({
  index: at,
  id: `c${at}`,
  type: 'function',
  function: { name: `f${at}`, arguments: args },
})
const completion = (message: object, choices = 1) => ({
  id: 'c',
  model: 'm',
  choices: many(choices, (index) => ({ index, message: { role: 'assistant', ...message }, finish_reason: 'stop' })),
  usage: USAGE,
})
const message = (content: object[]) => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: 'end_turn',
  usage: { input_tokens: 5, output_tokens: 5 },
})
const response = (output: object[]) => ({
  id: 'r',
  object: 'response',
  status: 'completed',
  model: 'm',
  output,
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
})
const TEXT = (at: number) => ({ type: 'text', text: `text ${at}` })

const RESPONSES: Record<TargetDialect, Record<string, (n: number) => object>> = {
  chat: {
    parts: (n) => completion({ content: many(n, TEXT) }),
    calls: (n) => completion({ content: null, tool_calls: many(n, (at) => chatCall(at)) }),
    choices: (n) => completion({ content: 'x' }, n),
    letters: (n) => completion({ content: 'x'.repeat(100 * n) }),
    'letters of arguments': (n) => completion({ tool_calls: [chatCall(0, `{"a":"${'x'.repeat(100 * n)}"}`)] }),
  },
  messages: {
    texts: (n) => message(many(n, TEXT)),
    thoughts: (n) => message(many(n, () => ({ type: 'thinking', thinking: 'so', signature: 's' }))),
    calls: (n) => message(many(n, (at) => ({ type: 'tool_use', id: `t${at}`, name: 'f', input: { at } }))),
    letters: (n) => message([{ type: 'text', text: 'x'.repeat(100 * n) }]),
  },
  responses: {
    messages: (n) =>
      response(
        many(n, (at) => ({
          type: 'message',
          id: `m${at}`,
          role: 'assistant',
          content: [{ type: 'output_text', text: `t${at}` }],
        })),
      ),
    parts: (n) =>
      response([
        {
          type: 'message',
          id: 'm',
          role: 'assistant',
          content: many(n, (at) => ({ type: 'output_text', text: `t${at}` })),
        },
      ]),
    calls: (n) =>
      response(
        many(n, (at) => ({ type: 'function_call', id: `f${at}`, call_id: `c${at}`, name: 'f', arguments: '{}' })),
      ),
    thoughts: (n) =>
      response(many(n, (at) => ({ type: 'reasoning', id: `r${at}`, summary: [{ type: 'summary_text', text: 'so' }] }))),
  },
}

const delta = (members: object, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: members, finish_reason: null, ...more }],
})
const END = [delta({}, { finish_reason: 'stop' })]
const START = [
  { type: 'message_start', message: { id: 'm', model: 'm', usage: { input_tokens: 5, output_tokens: 1 } } },
]
const STOP = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]
const CREATED = [{ type: 'response.created', response: { id: 'resp_1', model: 'm', output: [] } }]
const DONE = [
  {
    type: 'response.completed',
    response: {
      id: 'resp_1',
      status: 'completed',
      model: 'm',
      output: [],
      usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
    },
  },
]
const piece = (index: number, text: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json: text },
})
const begin = (index: number, block: object) => ({ type: 'content_block_start', index, content_block: block })

const STREAMS: Record<TargetDialect, Record<string, (n: number) => object[]>> = {
  chat: {
    'pieces of a text': (n) => [...many(n, (at) => delta({ content: `t${at} ` })), ...END],
    'pieces of a thought': (n) => [...many(n, (at) => delta({ reasoning_content: `t${at} ` })), ...END],
    'texts and thoughts by turns': (n) => [
      ...many(n, (at) => delta(at % 2 ? { content: 'x' } : { reasoning_content: 'x' })),
      ...END,
    ],
    'log probabilities': (n) => [
      ...many(n, () => delta({ content: 'x' }, { logprobs: { content: [{ token: 'x', logprob: -1 }] } })),
      ...END,
    ],
    'log probabilities at once': (n) => [
      delta({ content: 'x' }, { logprobs: { content: many(10 * n, () => ({ token: 'x' })) } }),
      ...END,
    ],
    'pieces of arguments': (n) => [
      delta({ tool_calls: [chatCall(0, '{"a":"')] }),
      ...many(n, () => delta({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] })),
      ...END,
    ],
    'pieces of arguments while another call waits': (n) => [
      delta({ tool_calls: [chatCall(0, '{"a":[{}'), chatCall(1, '{}')] }),
      ...many(n, () => delta({ tool_calls: [{ index: 0, function: { arguments: ',{}' } }] })),
      ...END,
    ],
    calls: (n) => [...many(n, (at) => delta({ tool_calls: [chatCall(at)] })), ...END],
    'calls at once': (n) => [delta({ tool_calls: many(n, (at) => chatCall(at)) }), ...END],
    'calls without a number': (n) => [
      ...many(n, (at) => delta({ tool_calls: [{ id: `c${at}`, function: { name: 'f', arguments: '{}' } }] })),
      ...END,
    ],
    'pieces of calls without a number': (n) => [
      ...many(n, (at) => delta({ tool_calls: [chatCall(at, '{}')] })),
      ...many(n, () => delta({ tool_calls: [{ function: { arguments: ' ' } }] })),
      ...END,
    ],
    choices: (n) => [...many(n, (index) => delta({ content: 'x' }, { index })), ...END],
    'chunks without a word': (n) => [...many(n, () => delta({})), ...END],
  },
  messages: {
    'pieces of a text': (n) => [
      ...START,
      begin(0, { type: 'text', text: '' }),
      ...many(n, (at) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: `t${at} ` } })),
      ...STOP,
    ],
    blocks: (n) => [...START, ...many(n, (at) => begin(at, { type: 'text', text: 'x' })), ...STOP],
    calls: (n) => [
      ...START,
      ...many(n, (at) => begin(at, { type: 'tool_use', id: `t${at}`, name: 'f', input: {} })),
      ...STOP,
    ],
    'pieces of arguments': (n) => [
      ...START,
      begin(0, { type: 'tool_use', id: 't', name: 'f', input: {} }),
      ...many(n, () => piece(0, 'x')),
      ...STOP,
    ],
    pings: (n) => [...START, ...many(n, () => ({ type: 'ping' })), ...STOP],
  },
  responses: {
    'pieces of a text': (n) => [
      ...CREATED,
      ...many(n, (at) => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: `t${at} ` })),
      ...DONE,
    ],
    items: (n) => [
      ...CREATED,
      ...many(n, (at) => ({
        type: 'response.output_item.done',
        output_index: at,
        item: { type: 'message', content: [{ type: 'output_text', text: 'x' }] },
      })),
      ...DONE,
    ],
    calls: (n) => [
      ...CREATED,
      ...many(n, (at) => ({
        type: 'response.output_item.added',
        output_index: at,
        item: { type: 'function_call', id: `f${at}`, call_id: `c${at}`, name: 'f', arguments: '' },
      })),
      ...DONE,
    ],
    'events that nobody knows': (n) => [...CREATED, ...many(n, (at) => ({ type: `response.x${at}` })), ...DONE],
  },
}

const ITEMS = 8_000
const NO_TOKENS = { promptTokens: 1, completionTokens: 1, cachedTokens: 0, reasoningTokens: 0, estimated: true }
const identity = { id: 'i', created: 1, model: 'm' }

const dialectPairs = targetDialects.flatMap((target) =>
  clientDialects.map((client) => ({ target, client, dialect: dialectRoute(client, [target]).dialect })),
)

const USER = [{ role: 'user', content: 'Hello' }]
const REQUESTED: Record<ClientDialect, object> = {
  chat: { messages: USER },
  responses: { input: USER, top_logprobs: 1 },
  messages: { messages: USER, max_tokens: 9, thinking: { type: 'enabled', budget_tokens: 2_048 } },
}

/** The parts of its request that reading a response needs. */
function echoOf(client: ClientDialect, dialect: (typeof dialectPairs)[number]['dialect']): unknown {
  const body = Buffer.from(JSON.stringify(REQUESTED[client]))
  return dialect.request({ kind: 'chat', body, model: 'm', stream: true, maxTokens: undefined, form: [] }).echo
}

function orRefused(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof BackendFault)) throw error
  }
}

describe.each(dialectPairs)('$target to $client', ({ target, client, dialect }) => {
  const echo = echoOf(client, dialect)

  test.each(Object.entries(RESPONSES[target]))('a response of twice as many %s takes twice the time', (_, make) => {
    const growth = cpuGrowth(ITEMS, (count) => {
      const bytes = Buffer.from(JSON.stringify(make(count)))
      return () =>
        orRefused(() => {
          const reply = dialect.readBackendResponse('chat', bytes, identity, echo)
          dialect.textOf(reply.json)
          dialect.withUsage(reply, NO_TOKENS, 'chat')
        })
    })
    expect(growth).toBeLessThan(LINEAR_BELOW)
  })

  test.each(Object.entries(STREAMS[target]))('a stream of twice as many %s takes twice the time', (_, make) => {
    const growth = cpuGrowth(ITEMS, (count) => {
      const name = (event: object) => ('type' in event ? `event: ${String(event.type)}\n` : '')
      const bytes = Buffer.from(
        make(count)
          .map((event) => `${name(event)}data: ${JSON.stringify(event)}\n\n`)
          .join(''),
      )
      return () =>
        orRefused(() => {
          const reading = dialect.readStream({ includeUsage: true, choices: 1, identity, echo })
          const parser = createSseParser()
          for (let at = 0; at < bytes.length; at += 16_384)
            for (const event of parser.push(bytes.subarray(at, at + 16_384))) reading.read(event)
          reading.usageChunk(NO_TOKENS)
        })
    })
    expect(growth).toBeLessThan(LINEAR_BELOW)
  })
})

test.each<[string, (n: number) => Buffer[]]>([
  ['pieces of one event', (n) => many(n, () => Buffer.from('x'))],
  ['pieces of one event of many lines', (n) => many(n, () => Buffer.from('data: x\r\n'))],
  ['events in one piece', (n) => [Buffer.from('data: x\n\n'.repeat(n))]],
  ['lines that are no field', (n) => [Buffer.from(`${'x\n'.repeat(n)}data: y\n\n`)]],
  ['empty lines', (n) => [Buffer.from('\n'.repeat(100 * n))]],
  ['returns', (n) => [Buffer.from('\r'.repeat(100 * n))]],
])('a stream of twice as many %s is split in twice the time', (_, make) => {
  const growth = cpuGrowth(ITEMS, (count) => {
    const pieces = make(count)
    return () => {
      const parser = createSseParser()
      for (const piece of pieces) parser.push(piece)
      parser.end()
    }
  })
  expect(growth).toBeLessThan(LINEAR_BELOW)
})
