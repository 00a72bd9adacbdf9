/**
 * The effect of each field of a Responses request in front of backends of other dialects: the table in
 * `docs/dialects.md`.
 */

import { afterAll, expect, test } from 'vitest'
import { faultPageSection } from '@gateway/testing/fault-page'
import { BackendFault } from '../core/backend-fault.ts'
import type { StateSeal } from '../core/state-seal.ts'
import { chatToMessages } from './chat-to-messages.ts'
import type { Dialect } from './dialect.ts'
import { chatToChat } from './chat-to-chat.ts'
import { viaChat } from './via-chat.ts'
import { responsesToChat } from './responses-to-chat.ts'

const LOOK = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false }
const user = (part: object) => ({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }, part] }] })
const after = (item: object) => ({ input: [{ role: 'user', content: 'x' }, item] })
const CALL = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' }
const schema = { type: 'object', properties: {}, additionalProperties: false }

/** A request with the field, by the field's name. */
const FIELDS: Record<string, object> = {
  instructions: { instructions: 'y' },
  'input: input_text': user({ type: 'input_text', text: 'y' }),
  'input: input_image with an address': user({ type: 'input_image', image_url: 'https://a/b.png' }),
  'input: input_image with a file_id': user({ type: 'input_image', file_id: 'f' }),
  'input: input_file with file_data': user({ type: 'input_file', file_data: 'data:application/pdf;base64,AA==' }),
  'input: input_file with a file_url': user({ type: 'input_file', file_url: 'https://a/b.pdf' }),
  'input: input_audio': user({ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }),
  'input: function_call and its output': {
    input: [{ role: 'user', content: 'x' }, CALL, { type: 'function_call_output', call_id: 'c', output: 'y' }],
  },
  'input: web_search_call, mcp_call and others of hosted tools': after({ type: 'web_search_call', id: 'w' }),
  'input: reasoning with encrypted_content': after({ type: 'reasoning', encrypted_content: 'e' }),
  'input: compaction of the gateway': after({ type: 'compaction', encrypted_content: 'svc1.k.e' }),
  'input: compaction of a vendor': after({ type: 'compaction', encrypted_content: 'e' }),
  'input: phase of a message': {
    input: [
      { role: 'user', content: 'x' },
      { role: 'assistant', phase: 'commentary', content: 'y' },
    ],
  },
  'tools: function, custom, namespace': { tools: [LOOK] },
  'tools: output_schema, defer_loading and others': { tools: [{ ...LOOK, output_schema: {} }] },
  'tools: web_search and other hosted ones': { tools: [{ type: 'web_search' }] },
  'tool_choice: required, function, custom, allowed_tools': { tools: [LOOK], tool_choice: 'required' },
  'tool_choice: a hosted tool': { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
  parallel_tool_calls: { tools: [LOOK], parallel_tool_calls: false },
  max_output_tokens: { max_output_tokens: 9 },
  temperature: { temperature: 0.5 },
  top_p: { top_p: 0.5 },
  'presence_penalty, frequency_penalty': { presence_penalty: 0.5, frequency_penalty: 0.5 },
  'include: message.output_text.logprobs': { include: ['message.output_text.logprobs'] },
  // `reasoning.encrypted_content` says nothing: every client gets the state of a target's reasoning.
  'include: code_interpreter_call.outputs and others': { include: ['code_interpreter_call.outputs'] },
  'reasoning.effort': { reasoning: { effort: 'low' }, max_output_tokens: 9_000 },
  'text.format: json_schema': { text: { format: { type: 'json_schema', name: 'a', schema } } },
  'text.verbosity': { text: { verbosity: 'low' } },
  user: { user: 'u' },
  prompt: { prompt: { id: 'p' } },
  'truncation: auto': { truncation: 'auto' },
  context_management: { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] },
  prompt_cache_key: { prompt_cache_key: 'k' },
  safety_identifier: { safety_identifier: 's' },
  service_tier: { service_tier: 'flex' },
  max_tool_calls: { max_tool_calls: 3 },
  'any other field': { some_new_field: 1 },
}

/** Its tokens hold their texts. */
const SEAL: StateSeal = {
  seal: (_, text) => `svc1.k.${text}`,
  open: (_, token) => (token.startsWith('svc1.') ? token.slice('svc1.k.'.length) : null),
}

const page = faultPageSection('responses', ['Field', '`chat` backends', '`messages` backends'], 'dialects.md')
afterAll(() => page.close())

test.each(Object.entries(FIELDS))('%s', (field, request) => {
  const fates = [chatToChat, chatToMessages].map((target) => fateOf(request, viaChat(responsesToChat, target)))
  expect(fates).not.toContain('lost')
  page.row(`\`${field}\``, ...fates)
})

/** `lost`: the backend gets the same without the field, and no client is informed. */
function fateOf(request: object, dialect: Dialect): string {
  const write = (body: object) => {
    const bytes = Buffer.from(JSON.stringify({ input: 'x', ...body }))
    return dialect.request({
      kind: 'chat',
      body: bytes,
      model: 'claude-sonnet-4-6',
      stream: false,
      maxTokens: 9_000,
      form: [],
      states: SEAL,
    })
  }
  try {
    const { body, dropped } = write(request)
    if (dropped.length > 0) return 'left out'
    return body.equals(write({}).body) ? 'lost' : 'kept'
  } catch (error) {
    if (!(error instanceof BackendFault) || error.status !== 400) throw error
    return 'refused'
  }
}
