/** The words of a backend that speaks OpenAI's Responses API. */

import { many } from '@gateway/testing/cpu-growth'
import {
  type CallForm,
  type Json,
  named,
  type Said,
  type Spoken,
  type TargetFixture,
  writtenBy,
} from '../target-fixture.ts'

const textPart = (said: string) => ({ type: 'output_text', text: said, annotations: [] })
const ITEM = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' }
export const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  background: false,
  completed_at: 2,
  error: null,
  frequency_penalty: 0,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  model: 'backend-model',
  output: [{ ...ITEM, content: [textPart('Hello there')] }],
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: null,
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  usage: {
    input_tokens: 9,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 12,
  },
}
const OF_TEXT = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const FAILED = { ...RESPONSE, status: 'failed', output: [], error: { code: 'server_error', message: 'no' } }

function say({ text, thoughts, calls = [], end }: Said): Spoken {
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  const summary = [{ type: 'summary_text', text: thoughts }]
  const output = [
    ...(thoughts ? [{ type: 'reasoning', id: 'rs_1', summary }] : []),
    ...(text ? [{ type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [part] }] : []),
    ...calls.map(({ name, input }, at) => {
      const args = JSON.stringify(input)
      return { type: 'function_call', id: `fc_${at}`, call_id: `t${at}`, name, arguments: args, status: 'completed' }
    }),
  ]
  const usage = { input_tokens: 9, output_tokens: 4, total_tokens: 13 }
  const details = end ? { reason: end === 'length' ? 'max_output_tokens' : end } : null
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: end ? 'incomplete' : 'completed',
    incomplete_details: details,
    model: 'm',
    output,
    service_tier: 'default',
    usage,
  }
  const events = [
    { type: 'response.created', response: { ...response, output: [], status: 'in_progress' } },
    ...output.flatMap((item, output_index): Json[] => {
      if (item.type === 'reasoning') {
        const place = { item_id: 'rs_1', output_index, summary_index: 0 }
        return [
          { type: 'response.output_item.added', output_index, item: { ...item, summary: [] } },
          { type: 'response.reasoning_summary_part.added', ...place, part: { type: 'summary_text', text: '' } },
          { type: 'response.reasoning_summary_text.delta', ...place, delta: thoughts },
          { type: 'response.output_item.done', output_index, item },
        ]
      }
      if (item.type === 'message') {
        const place = { item_id: 'msg_1', output_index, content_index: 0 }
        return [
          { type: 'response.output_item.added', output_index, item: { ...item, content: [] } },
          { type: 'response.output_text.delta', ...place, delta: text, logprobs: [] },
          { type: 'response.output_item.done', output_index, item },
        ]
      }
      const args = { item_id: item.id, output_index, delta: 'arguments' in item ? item.arguments : '' }
      return [
        { type: 'response.output_item.added', output_index, item: { ...item, arguments: '' } },
        { type: 'response.function_call_arguments.delta', ...args },
        { type: 'response.output_item.done', output_index, item },
      ]
    }),
    { type: end ? 'response.incomplete' : 'response.completed', response },
  ]
  return { plain: response, events: events.map((event, sequence_number) => ({ ...event, sequence_number })) }
}

function callWith(args: string): CallForm {
  const item = (text: string) => `{"type":"function_call","id":"fc","call_id":"t","name":"f","arguments":${text}}`
  const full = `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[${item(args)}]}`
  return {
    plain: full,
    events: [
      `{"type":"response.output_item.added","output_index":0,"item":${item('""')}}`,
      `{"type":"response.function_call_arguments.delta","item_id":"fc","output_index":0,"delta":${args}}`,
      `{"type":"response.completed","response":${full}}`,
    ],
  }
}

const RICH_RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
}

const manyIn = (output: object[]) => ({
  id: 'r',
  object: 'response',
  status: 'completed',
  model: 'm',
  output,
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
})
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

export const fixture: TargetFixture = {
  say,
  written: writtenBy(
    RESPONSE,
    {
      role: [
        { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item: { ...ITEM, content: [] } },
      ],
      content: [
        { type: 'response.content_part.added', ...OF_TEXT, part: textPart('') },
        { type: 'response.output_text.delta', ...OF_TEXT, delta: 'Hello', logprobs: [] },
      ],
      end: [
        { type: 'response.output_item.done', output_index: 0, item: RESPONSE.output[0] },
        { type: 'response.completed', response: RESPONSE },
      ],
      failure: [{ type: 'response.failed', response: FAILED }],
    },
    true,
  ),
  countsPromptFirst: false,
  textPiece: (text) =>
    named({
      type: 'response.output_text.delta',
      sequence_number: 1,
      output_index: 0,
      content_index: 0,
      delta: text,
    }),
  callForms: { 'as a text': (object) => callWith(JSON.stringify(object)) },
  argumentsMember: 'arguments',
  rich: {
    response: RICH_RESPONSE,
    events: [
      { type: 'response.created', response: { ...RICH_RESPONSE, status: 'in_progress' } },
      { type: 'response.output_item.added', item: { type: 'function_call', name: 'look' } },
      { type: 'response.output_text.delta', delta: 'Hello' },
      { type: 'response.completed', response: RICH_RESPONSE },
    ],
  },
  manyInResponse: {
    messages: (n) =>
      manyIn(
        many(n, (at) => ({
          type: 'message',
          id: `m${at}`,
          role: 'assistant',
          content: [{ type: 'output_text', text: `t${at}` }],
        })),
      ),
    parts: (n) =>
      manyIn([
        {
          type: 'message',
          id: 'm',
          role: 'assistant',
          content: many(n, (at) => ({ type: 'output_text', text: `t${at}` })),
        },
      ]),
    calls: (n) =>
      manyIn(many(n, (at) => ({ type: 'function_call', id: `f${at}`, call_id: `c${at}`, name: 'f', arguments: '{}' }))),
    thoughts: (n) =>
      manyIn(many(n, (at) => ({ type: 'reasoning', id: `r${at}`, summary: [{ type: 'summary_text', text: 'so' }] }))),
  },
  manyInStream: {
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
