/**
 * The effect of each field of a Messages request in front of backends that speak chat or the Responses API: the table
 * in `docs/dialects.md`.
 */

import { afterAll, expect, test } from 'vitest'
import { faultPageSection } from '@gateway/testing/fault-page'
import { BackendFault } from '../core/backend-fault.ts'
import type { Dialect } from './dialect.ts'
import { dialectRoute } from './dialects.ts'

const viaChat = dialectRoute('messages', ['chat']).dialect
const overResponses = dialectRoute('messages', ['responses']).dialect

const HI = { type: 'text', text: 'x' }
const LOOK = { name: 'look', input_schema: { type: 'object', properties: {} } }
const SEARCH = { type: 'web_search_20250305', name: 'web_search' }
const CALL = { type: 'tool_use', id: 't', name: 'look', input: {} }
const user = (...blocks: object[]) => ({ messages: [{ role: 'user', content: [HI, ...blocks] }] })
const assistant = (...blocks: object[]) => ({
  messages: [
    { role: 'user', content: [HI] },
    { role: 'assistant', content: [HI, ...blocks] },
  ],
})
const result = (more: object) => ({
  messages: [
    ...assistant(CALL).messages,
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', ...more }] },
  ],
})
const document = (source: object) => user({ type: 'document', source })
const image = (source: object) => ({ type: 'image', source })
const PNG = image({ type: 'base64', media_type: 'image/png', data: 'AA==' })

const PREFILL = { role: 'assistant', content: '{' }

/** A request with the field, and one that lacks it, by the field's name. */
const FIELDS: Record<string, [with_: object, without: object]> = {
  system: [{ system: 'y' }, {}],
  'messages: text, also of the role system': [
    {
      messages: [
        { role: 'system', content: 'y' },
        { role: 'user', content: 'x' },
      ],
    },
    {},
  ],
  'messages: image, inline or by address': [user(PNG), user()],
  'messages: image with a file_id': [user(image({ type: 'file', file_id: 'f' })), user()],
  'messages: document, inline, as text or with a file_id': [
    document({ type: 'base64', media_type: 'application/pdf', data: 'AA==' }),
    user(),
  ],
  'messages: document by address': [document({ type: 'url', url: 'https://a/b.pdf' }), user()],
  'messages: search_result': [user({ type: 'search_result', source: 's', title: 't', content: [HI] }), user()],
  'messages: tool_use and its tool_result, with images': [result({ content: [PNG] }), assistant()],
  'messages: is_error of a tool_result': [result({ content: 'y', is_error: true }), result({ content: 'y' })],
  'messages: thinking of others, redacted_thinking': [
    assistant({ type: 'thinking', thinking: 'y', signature: 's' }),
    assistant(),
  ],
  'messages: server_tool_use and results of hosted tools': [
    assistant({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
    assistant(),
  ],
  'messages: prefill, the last turn': [
    { messages: [{ role: 'user', content: 'x' }, PREFILL] },
    { messages: [{ role: 'user', content: 'x' }, PREFILL, { role: 'user', content: 'x' }] },
  ],
  'messages: container_upload': [user({ type: 'container_upload', file_id: 'f' }), user()],
  'cache_control, anywhere': [user({ ...HI, cache_control: { type: 'ephemeral' } }), user(HI)],
  'citations of a document': [
    user({
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'y' },
      citations: { enabled: true },
    }),
    document({ type: 'text', media_type: 'text/plain', data: 'y' }),
  ],
  max_tokens: [{ max_tokens: 7 }, {}],
  temperature: [{ temperature: 0.5 }, {}],
  top_p: [{ top_p: 0.5 }, {}],
  top_k: [{ top_k: 5 }, {}],
  stop_sequences: [{ stop_sequences: ['END'] }, {}],
  'tools with an input_schema': [{ tools: [LOOK] }, {}],
  'tools of a type: web_search, bash, text_editor and others': [{ tools: [SEARCH] }, {}],
  tool_choice: [{ tools: [LOOK], tool_choice: { type: 'any' } }, { tools: [LOOK] }],
  'tool_choice: a tool of a type': [{ tools: [SEARCH], tool_choice: { type: 'tool', name: 'web_search' } }, {}],
  'tool_choice.disable_parallel_tool_use': [
    { tools: [LOOK], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    { tools: [LOOK], tool_choice: { type: 'auto' } },
  ],
  'thinking with a budget': [{ thinking: { type: 'enabled', budget_tokens: 2_048 } }, {}],
  'thinking: adaptive, disabled': [{ thinking: { type: 'adaptive' } }, {}],
  'output_config.format': [{ output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } }, {}],
  'output_config.effort': [{ output_config: { effort: 'low' } }, {}],
  'metadata.user_id': [{ metadata: { user_id: 'u' } }, {}],
  'any other field': [{ some_new_field: 1 }, {}],
}

const page = faultPageSection('messages', ['Field', '`chat` backends', '`responses` backends'], 'dialects.md')
afterAll(() => page.close())

test.each(Object.entries(FIELDS))('%s', (field, [request, without]) => {
  const fates = [viaChat, overResponses].map((dialect) => fateOf(dialect, request, without))
  expect(fates).not.toContain('lost')
  page.row(`\`${field}\``, ...fates)
})

function write(dialect: Dialect, request: object) {
  const body = Buffer.from(JSON.stringify({ max_tokens: 9, messages: [{ role: 'user', content: 'x' }], ...request }))
  return dialect.request({ kind: 'chat', body, model: 'qwen', stream: false, maxTokens: undefined, form: [] })
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
