/** The words of a backend that speaks Anthropic's Messages API. */

import { many } from '@gateway/testing/cpu-growth'
import {
  type CallForm,
  type Json,
  named,
  OVERLOADED,
  type Said,
  type Spoken,
  type TargetFixture,
  writtenBy,
} from '../target-fixture.ts'

export const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'backend-model',
  content: [{ type: 'text', text: 'Hello there' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 3 },
}

const STOPS = new Map([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
  ['content_filter', 'refusal'],
  ['tool_calls', 'tool_use'],
])

function say({ text, thoughts, calls = [], end }: Said): Spoken {
  const blocks: [block: Json, empty: Json, ...deltas: Json[]][] = []
  if (thoughts) {
    const block = { type: 'thinking', thinking: thoughts, signature: 's' }
    const deltas = [
      { type: 'thinking_delta', thinking: thoughts },
      { type: 'signature_delta', signature: 's' },
    ]
    blocks.push([block, { ...block, thinking: '', signature: '' }, ...deltas])
  }
  if (text)
    blocks.push([
      { type: 'text', text },
      { type: 'text', text: '' },
      { type: 'text_delta', text },
    ])
  for (const [at, call] of calls.entries()) {
    const block = { type: 'tool_use', id: `t${at}`, ...call }
    const delta = { type: 'input_json_delta', partial_json: JSON.stringify(call.input) }
    blocks.push([block, { ...block, input: {} }, delta])
  }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null }
  const usage = { input_tokens: 9, output_tokens: 4 }
  const stop = { stop_reason: STOPS.get(end ?? (calls.length > 0 ? 'tool_calls' : 'stop')), stop_sequence: null }
  return {
    plain: { ...message, content: blocks.map(([block]) => block), ...stop, usage },
    events: [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
      ...blocks.flatMap(([, empty, ...deltas], index) => [
        { type: 'content_block_start', index, content_block: empty },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: stop, usage: { output_tokens: 4 } },
      { type: 'message_stop' },
    ],
  }
}

function callWith(input: string, deltas: string[]): CallForm {
  const block = (given: string) => `{"type":"tool_use","id":"t","name":"f","input":${given}}`
  const full = input === '{}' ? deltas.map((text) => JSON.parse(text) as string).join('') : input
  const head = '"type":"message","id":"m","model":"m","role":"assistant","stop_sequence":null'
  return {
    plain: `{${head},"content":[${block(full)}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`,
    events: [
      `{"type":"message_start","message":{${head},"content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
      `{"type":"content_block_start","index":0,"content_block":${block(input)}}`,
      ...deltas.map(
        (text) => `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${text}}}`,
      ),
      '{"type":"content_block_stop","index":0}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2}}',
      '{"type":"message_stop"}',
    ],
  }
}

const RICH_BLOCKS = [
  { type: 'thinking', thinking: 'so', signature: 's' },
  { type: 'text', text: 'Hello' },
  { type: 'tool_use', id: 't1', name: 'look', input: { at: 'home' } },
]
const RICH_USAGE = { input_tokens: 5, output_tokens: 5, iterations: [{ type: 'message', input_tokens: 5 }] }

const manyIn = (content: object[]) => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: 'end_turn',
  usage: { input_tokens: 5, output_tokens: 5 },
})
const TEXT = (at: number) => ({ type: 'text', text: `text ${at}` })
const START = [
  { type: 'message_start', message: { id: 'm', model: 'm', usage: { input_tokens: 5, output_tokens: 1 } } },
]
const STOP = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]
const piece = (index: number, text: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json: text },
})
const begin = (index: number, block: object) => ({ type: 'content_block_start', index, content_block: block })

export const fixture: TargetFixture = {
  say,
  written: writtenBy(MESSAGE, {
    role: [
      { type: 'message_start', message: { ...MESSAGE, content: [], usage: { input_tokens: 9, output_tokens: 1 } } },
    ],
    content: [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    ],
    end: [
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ],
    failure: [OVERLOADED],
  }),
  countsPromptFirst: true,
  textPiece: (text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  callForms: {
    'in pieces': (object) => callWith('{}', [JSON.stringify(object.slice(0, 3)), JSON.stringify(object.slice(3))]),
    'whole at the start': (object) => callWith(object, []),
  },
  argumentsMember: 'input',
  rich: {
    response: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: RICH_BLOCKS,
      stop_reason: 'end_turn',
      stop_details: { type: 'refusal', explanation: 'no' },
      usage: RICH_USAGE,
    },
    events: [
      { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: RICH_USAGE } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'content_block_start', index: 1, content_block: RICH_BLOCKS[2] },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{}' } },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: RICH_USAGE },
      { type: 'message_stop' },
    ],
  },
  manyInResponse: {
    texts: (n) => manyIn(many(n, TEXT)),
    thoughts: (n) => manyIn(many(n, () => ({ type: 'thinking', thinking: 'so', signature: 's' }))),
    calls: (n) => manyIn(many(n, (at) => ({ type: 'tool_use', id: `t${at}`, name: 'f', input: { at } }))),
    letters: (n) => manyIn([{ type: 'text', text: 'x'.repeat(100 * n) }]),
  },
  manyInStream: {
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
}
