/**
 * Clients of typed languages write null for a member that they leave out. A member that a request may lack may be null.
 */

import { describe, expect, test } from 'vitest'
import { chat, embeddings, images, type InferenceKind } from './inference-kinds.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

type Path = readonly (string | number)[]

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } }
const IMAGE = 'data:image/png;base64,AAAA'

const CASES: { name: string; read: InferenceKind; complete: object }[] = [
  {
    name: 'chat completions',
    read: chat,
    complete: {
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.', name: 'house' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?', image_url: { url: IMAGE } },
            { type: 'image_url', text: '', image_url: { url: IMAGE, detail: 'low' } },
          ],
        },
        { role: 'assistant', content: 'Let me look.', refusal: '', tool_calls: [{ id: 'c', type: 'function' }] },
        { role: 'tool', tool_call_id: 'c', content: 'A fox' },
      ],
      max_tokens: 10,
      max_completion_tokens: 10,
      stream: true,
      stream_options: { include_usage: true },
      n: 1,
      temperature: 1,
      top_p: 1,
      stop: ['END'],
      tools: [{ type: 'function', function: { name: 'look', parameters: PARAMETERS } }],
      chat_template_kwargs: { enable_thinking: false },
    },
  },
  {
    name: 'responses',
    read: responses,
    complete: {
      model: 'm',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?', refusal: '', image_url: '' },
            { type: 'input_image', image_url: IMAGE },
          ],
          name: '',
        },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'A fox?' }], content: [] },
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}', namespace: 'house', input: '' },
        { type: 'function_call_output', call_id: 'c', output: 'A fox', role: 'user' },
      ],
      instructions: 'Be brief.',
      max_output_tokens: 10,
      stream: true,
      store: false,
      temperature: 1,
      top_p: 1,
      presence_penalty: 1,
      frequency_penalty: 1,
      top_logprobs: 0,
      tools: [
        { type: 'function', name: 'look', parameters: PARAMETERS },
        { type: 'web_search', name: 'search', tools: [{}] },
      ],
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: true,
      text: { format: { type: 'json_schema', name: 'city', schema: PARAMETERS } },
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      metadata: {},
      truncation: 'auto',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      max_tool_calls: 3,
      previous_response_id: null,
      conversation: null,
      background: false,
    },
  },
  {
    name: 'messages',
    read: messages,
    complete: {
      model: 'm',
      max_tokens: 10,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image', text: '' },
          ],
        },
      ],
      tools: [{ type: 'custom', name: 'look', input_schema: PARAMETERS }],
      tool_choice: { type: 'auto' },
      thinking: { type: 'disabled' },
      output_config: { format: { type: 'json_schema' } },
      stream: true,
      temperature: 1,
      top_p: 1,
      top_k: 1,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
    },
  },
  {
    name: 'embeddings',
    read: embeddings,
    complete: { model: 'm', input: ['a', 'b'], encoding_format: 'float', dimensions: 768, user: 'u' },
  },
  {
    name: 'images',
    read: images,
    complete: {
      model: 'm',
      prompt: 'A fox',
      size: '512x512',
      n: 1,
      response_format: 'b64_json',
      output_format: 'png',
      stream: false,
      partial_images: 0,
      quality: 'high',
    },
  },
]

/** The members of all objects in it. */
function membersOf(value: unknown, path: Path = []): Path[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => membersOf(item, [...path, index]))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [[...path, name], ...membersOf(inner, [...path, name])])
}

/** Undefined takes the member away. */
function withMember(complete: object, path: Path, value: null | undefined): object {
  const copy = structuredClone(complete)
  const holder = path.slice(0, -1).reduce<unknown>((inner, step) => (inner as Record<string, unknown>)[step], copy)
  const member = path.at(-1)!
  if (value === undefined) delete (holder as Record<string, unknown>)[member]
  else (holder as Record<string, unknown>)[member] = value
  return copy
}

describe.each(CASES)('$name', ({ read, complete }) => {
  const isAccepted = (body: object) => {
    try {
      read(body, [])
      return true
    } catch {
      return false
    }
  }
  // A name is never null: without one, the gateway's own default serves.
  const optional = membersOf(complete).filter(
    (path) => path.join('.') !== 'model' && isAccepted(withMember(complete, path, undefined)),
  )

  test('takes the whole request', () => {
    expect(read(complete, []).model).toBe('m')
    expect(optional.length).toBeGreaterThan(2)
  })

  test('takes null for every member that may be left out', () => {
    expect(
      optional.filter((path) => !isAccepted(withMember(complete, path, null))).map((path) => path.join('.')),
    ).toEqual([])
  })
})
