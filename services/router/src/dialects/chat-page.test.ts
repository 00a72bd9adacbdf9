/**
 * The effect of each field of a chat completion request in front of backends of other dialects: the table in
 * `docs/dialects.md`.
 */

import { afterAll, expect, test } from 'vitest'
import { faultPageSection } from '@gateway/testing/fault-page'
import { BackendFault } from '../core/backend-fault.ts'
import { chatToMessages } from './chat-to-messages.ts'
import { chatToResponses } from './chat-to-responses.ts'
import type { Dialect } from './dialect.ts'

const HI = { role: 'user', content: 'x' }
const LOOK = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const OTHER = { type: 'function', function: { ...LOOK.function, name: 'hear' } }
const CALL = { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
const PNG = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
const schema = { type: 'object', properties: {}, additionalProperties: false }

const user = (...parts: object[]) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, ...parts] }],
})
const system = (...parts: object[]) => ({
  messages: [{ role: 'system', content: [{ type: 'text', text: 'y' }, ...parts] }, HI],
})
const said = (more: object) => ({ messages: [HI, { role: 'assistant', content: 'a', ...more }, HI] })
const called = (call: object) => ({
  messages: [
    HI,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'y' },
  ],
})
const tools = { tools: [LOOK, OTHER] }
const allowed = { mode: 'required', tools: [{ type: 'function', function: { name: 'look' } }] }

/** A request with the field, and one that lacks it, by the field's name. */
const FIELDS: Record<string, [with_: object, without: object]> = {
  'messages: system and developer': [system(), {}],
  'messages: a picture or file of the system': [system(PNG), system()],
  'messages: text, image_url': [user(PNG), user()],
  'messages: image_url.detail': [user({ ...PNG, image_url: { ...PNG.image_url, detail: 'low' } }), user(PNG)],
  'messages: file with file_data or a file_id': [user({ type: 'file', file: { file_id: 'f' } }), user()],
  'messages: input_audio': [user({ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }), user()],
  'messages: refusal': [said({ refusal: 'no' }), said({})],
  'messages: name': [{ messages: [{ ...HI, name: 'ann' }] }, {}],
  'messages: audio of the assistant': [said({ audio: { id: 'a' } }), said({})],
  'messages: tool_calls and their results': [called(CALL), {}],
  'messages: arguments that are no object': [
    called({ ...CALL, function: { name: 'look', arguments: '{"a' } }),
    called(CALL),
  ],
  'messages: calls of custom tools': [
    called({ id: 'c', type: 'custom', custom: { name: 'look', input: 'x' } }),
    called(CALL),
  ],
  'messages: function_call, role function': [said({ function_call: { name: 'f', arguments: '' } }), said({})],
  'messages: reasoning_content': [said({ reasoning_content: 'Hm' }), said({})],
  'cache_control, anywhere': [
    user({ type: 'text', text: 'y', cache_control: { type: 'ephemeral' } }),
    user({ type: 'text', text: 'y' }),
  ],
  'prompt_cache_breakpoint of a part': [
    user({ type: 'text', text: 'y', prompt_cache_breakpoint: { mode: 'explicit' } }),
    user({ type: 'text', text: 'y' }),
  ],
  'tools: functions': [{ tools: [LOOK] }, {}],
  'tools: custom': [{ tools: [{ type: 'custom', custom: { name: 'patch' } }] }, {}],
  'tool_choice: required, a function': [{ ...tools, tool_choice: 'required' }, tools],
  'tool_choice: allowed_tools': [{ ...tools, tool_choice: { type: 'allowed_tools', allowed_tools: allowed } }, tools],
  'tool_choice without tools': [{ tool_choice: 'required' }, {}],
  parallel_tool_calls: [{ ...tools, parallel_tool_calls: false }, tools],
  'max_completion_tokens, max_tokens': [{ max_completion_tokens: 9 }, {}],
  'temperature up to 1': [{ temperature: 0.5 }, {}],
  'temperature above 1': [{ temperature: 1.7 }, {}],
  top_p: [{ top_p: 0.5 }, {}],
  stop: [{ stop: 'END' }, {}],
  'n above 1': [{ n: 2 }, {}],
  'response_format: json_schema': [
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } },
    {},
  ],
  'response_format: json_object': [{ response_format: { type: 'json_object' } }, {}],
  reasoning_effort: [{ reasoning_effort: 'low', max_completion_tokens: 9_000 }, { max_completion_tokens: 9_000 }],
  user: [{ user: 'u' }, {}],
  'logprobs, top_logprobs': [{ logprobs: true, top_logprobs: 2 }, {}],
  'metadata, safety_identifier, verbosity, prompt_cache_key': [{ metadata: { a: 'b' } }, {}],
  'seed, logit_bias, penalties, prediction': [{ seed: 1 }, {}],
  'store: true': [{ store: true }, {}],
  'audio, web_search_options, functions, function_call': [{ functions: [] }, {}],
  'any other field': [{ some_new_field: 1 }, {}],
}

const page = faultPageSection('chat', ['Field', '`messages` backends', '`responses` backends'], 'dialects.md')
afterAll(() => page.close())

test.each(Object.entries(FIELDS))('%s', (field, [request, without]) => {
  const fates = [chatToMessages, chatToResponses].map((dialect) => fateOf(dialect, request, without))
  expect(fates).not.toContain('lost')
  page.row(`\`${field}\``, ...fates)
})

function write(dialect: Dialect, request: object) {
  const body = Buffer.from(JSON.stringify({ messages: [HI], ...request }))
  const clientRequest = { kind: 'chat' as const, body, model: 'claude-sonnet-4-6', stream: false, maxTokens: 9_000 }
  return dialect.request({ ...clientRequest, form: [] })
}

/** `lost`: the backend gets the same without the field, and no client is informed. */
function fateOf(dialect: Dialect, request: object, without: object): string {
  try {
    const { body, dropped } = write(dialect, request)
    if (dropped.length > 0) return 'left out'
    return body.equals(write(dialect, without).body) ? 'lost' : 'kept'
  } catch (error) {
    if (!(error instanceof BackendFault) || error.status !== 400) throw error
    return 'refused'
  }
}
