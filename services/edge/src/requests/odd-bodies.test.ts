/**
 * Bodies that are nearly right: JSON of a large valid request, in which values of another kind stand at some places.
 */

import * as fc from 'fast-check'
import { GatewayError } from '@gateway/contracts/errors'
import { parseExactly } from '@gateway/contracts/json'
import { expect, test } from 'vitest'
import { chat, embeddings, images, type InferenceKind } from './inference-kinds.ts'
import { countTokens, messages } from './messages.ts'
import { responses } from './responses.ts'

const TEXT = { type: 'text', text: 'x' }
const TOOL = { type: 'function', name: 'f', parameters: { type: 'object' } }

const MESSAGES = {
  model: 'm',
  max_tokens: 5,
  system: [{ ...TEXT, cache_control: { type: 'ephemeral' } }],
  messages: [
    {
      role: 'user',
      content: [
        TEXT,
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aa' } },
        { type: 'document', source: { type: 'content', content: [TEXT] }, title: 't', citations: { enabled: true } },
        { type: 'search_result', source: 's', title: 't', content: [TEXT] },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 't', signature: 's' },
        { type: 'tool_use', id: 'i', name: 'f', input: {} },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'i', content: [TEXT, { type: 'image' }], is_error: true }],
    },
  ],
  tools: [
    { name: 'f', input_schema: { type: 'object' } },
    { type: 'web_search_20250305', name: 'web_search' },
  ],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  output_config: { format: { type: 'json_schema', schema: {} }, effort: 'low' },
  metadata: { user_id: 'u' },
}

const RESPONSES = {
  model: 'm',
  instructions: 'i',
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'x' },
        { type: 'input_image', image_url: 'u' },
        { type: 'input_file', file_data: 'd' },
      ],
    },
    { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 't' }], content: [] },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
    { type: 'custom_tool_call', call_id: 'd', name: 'g', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'd', output: 'x' },
    { type: 'additional_tools', role: 'developer', tools: [TOOL] },
    { type: 'web_search_call', id: 'w' },
  ],
  tools: [TOOL, { type: 'namespace', name: 'n', tools: [TOOL] }, { type: 'web_search' }],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
  text: { format: { type: 'json_schema', name: 'n', schema: {} } },
  reasoning: { effort: 'low', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  metadata: { a: 'b' },
}

const CHAT = {
  model: 'm',
  messages: [
    { role: 'system', content: 's' },
    {
      role: 'user',
      content: [
        TEXT,
        { type: 'image_url', image_url: { url: 'u' } },
        { type: 'file', file: { file_data: 'x' } },
        { type: 'input_audio', input_audio: { data: 'd', format: 'wav' } },
      ],
    },
    { role: 'assistant', content: null, tool_calls: [{ id: 'i', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'i', content: 'x' },
  ],
  tools: [{ type: 'function', function: { name: 'f' } }],
  response_format: { type: 'json_object' },
  chat_template_kwargs: { enable_thinking: false },
  n_predict: 5,
}

const ODD = [
  ...['null', '5', '-1', '1.5', '100000000000000000000', '"t"', 'true', '[]', '[null]', '[5]', '["s"]', '[[]]', '{}'],
  ...['[{}]', '{"type":"x"}', '[{"type":"text"}]', '[{"type":"text","text":5}]', '[{"type":"tool_result"}]'],
]

type Path = readonly (string | number)[]

function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const inner = Object.entries(value).flatMap(([name, member]) => {
    return pathsIn(member, [...path, Array.isArray(value) ? Number(name) : name])
  })
  return path.length === 0 ? inner : [path, ...inner]
}

/** A place within a value that an earlier change has replaced is left alone. */
function changed(body: object, changes: readonly (readonly [Path, string])[]): unknown {
  const odd = JSON.parse(JSON.stringify(body)) as Record<string, unknown>
  for (const [path, text] of changes) {
    let owner: unknown = odd
    for (const step of path.slice(0, -1)) owner = (owner as Record<string, unknown> | null)?.[step]
    if (typeof owner === 'object' && owner !== null) {
      ;(owner as Record<string, unknown>)[path.at(-1)!] = parseExactly(text)
    }
  }
  return odd
}

const MODELS = [{ id: 'm', type: 'chat', maxOutputTokens: 100 }] as never

function read(kind: InferenceKind): (body: unknown) => void {
  return (body) => {
    const inference = kind(body, MODELS)
    inference.conversationKey?.()
    inference.estimate({ maxOutputTokens: 100 } as never, 1_000)
  }
}

test.each<[string, (body: unknown) => void, object]>([
  ['chat', read(chat), CHAT],
  ['responses', read(responses), RESPONSES],
  ['messages', read(messages), MESSAGES],
  ['a count of tokens', (body) => void countTokens(body), MESSAGES],
  ['embeddings', read(embeddings), { model: 'm', input: ['x', 'y'], dimensions: 5, encoding_format: 'float' }],
  ['images', read(images), { model: 'm', prompt: 'x', size: '64x64', n: 2 }],
])('a body for %s is read, or its field is named: none is a failure of the edge', (_, readBody, body) => {
  readBody(body)
  const change = fc.tuple(fc.constantFrom(...pathsIn(body)), fc.constantFrom(...ODD))
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      try {
        readBody(changed(body, changes))
      } catch (error) {
        if (!(error instanceof GatewayError) || error.code !== 'VALIDATION_ERROR') throw error
        // Clients show `error.param` beside the message.
        expect(error.message).toMatch(`${error.details.param ?? 'body'}: `)
        expect(error.message.indexOf(error.details.param ?? 'body')).toBe(0)
      }
    }),
    { numRuns: 2_000 },
  )
})
