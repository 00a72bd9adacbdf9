/**
 * A backend may leave out any members: its record then fits the contract's schema. When it leaves out none, the record
 * is not touched.
 */

import { chatChunk, chatCompletion, embeddingList, imageGeneration } from '@gateway/contracts/answers'
import type { JobKind } from '@gateway/contracts/job'
import type { VendorName } from '@gateway/contracts/vendors'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type * as z from 'zod'
import type { JsonObject } from '@gateway/contracts/json'
import { VENDOR_PROFILES } from '../vendors/index.ts'
import { completeResponse, completeChunk } from './complete-response.ts'

const NAME = { id: 'chatcmpl-own', created: 1_790_000_000, model: 'of-the-target' }
const USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }

const COMPLETION = {
  id: 'chatcmpl-c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' },
    {
      index: 1,
      message: { role: 'assistant', content: 'Ho', tool_calls: [{ id: 't', type: 'function' }] },
      finish_reason: 'length',
    },
  ],
  usage: USAGE,
}
const CHUNK = {
  id: 'chatcmpl-c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }],
}
const EMBEDDINGS = {
  object: 'list',
  model: 'm',
  data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: 9, total_tokens: 9 },
}
const IMAGES = {
  created: 1,
  data: [{ b64_json: 'iVBO' }],
  usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
}

interface Case {
  kind: JobKind
  full: JsonObject
  schema: z.ZodType
  /** A backend must write these: the router does not invent a response. */
  content: string[]
  complete(record: JsonObject): JsonObject | null
}
const response = (kind: JobKind) => (record: JsonObject) => completeResponse(kind, record, NAME)
const CASES: Case[] = [
  {
    kind: 'chat',
    full: COMPLETION,
    schema: chatCompletion,
    content: ['choices', 'message'],
    complete: response('chat'),
  },
  { kind: 'chat', full: CHUNK, schema: chatChunk, content: [], complete: (chunk) => completeChunk(chunk, NAME) },
  {
    kind: 'embeddings',
    full: EMBEDDINGS,
    schema: embeddingList,
    content: ['data', 'embedding', 'index'],
    complete: response('embeddings'),
  },
  {
    kind: 'images',
    full: IMAGES,
    schema: imageGeneration,
    content: ['data', 'b64_json'],
    complete: response('images'),
  },
]

/** The paths of all members; counts are the backend's to give, or counted elsewhere. */
function membersOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (Array.isArray(value)) return value.flatMap((item, index) => membersOf(item, [...path, index]))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'usage' ? [] : [[...path, name], ...membersOf(inner, [...path, name])],
  )
}

function without(record: JsonObject, path: (string | number)[]): void {
  const holder = path.slice(0, -1).reduce<unknown>((value, step) => (value as JsonObject | undefined)?.[step], record)
  if (typeof holder === 'object' && holder !== null) delete (holder as JsonObject)[path.at(-1)!]
}

describe.each(CASES)('a record of $kind', ({ full, schema, content, complete }) => {
  test('that is whole is left as it is', () => {
    expect(schema.safeParse(full).success).toBe(true)
    expect(complete(full)).toBeNull()
  })

  test('is complete again after a backend has left out any of its members', () => {
    const gaps = membersOf(full).filter((path) => !content.includes(String(path.at(-1))))
    fc.assert(
      fc.property(fc.subarray(gaps, { minLength: 1 }), (missing) => {
        const record = structuredClone(full)
        for (const path of missing) without(record, path)
        const completed = complete(record) ?? record
        expect(schema.safeParse(completed).error).toBeUndefined()
        // All that it did write stands.
        expect(completed).toMatchObject(record)
        expect(complete(completed)).toBeNull()
      }),
    )
  })
})

test.each([
  ['a chunk', completeChunk, CHUNK, null],
  ['an answer', response('chat'), COMPLETION, 'stop'],
])('the finish reason of %s is never an empty text', (_, complete, record, expected) => {
  const [choice] = record.choices
  const empty = { ...record, choices: [{ ...choice, finish_reason: '' }] }
  expect(complete(empty, NAME)).toEqual({ ...record, choices: [{ ...choice, finish_reason: expected }] })
})

describe('parts of a text, as Mistral writes them,', () => {
  const text = (words: string) => ({ type: 'text', text: words })
  const thinking = { type: 'thinking', thinking: [text('Paris'), text(' or Lyon?')] }

  test.each([
    [[thinking], { content: '', reasoning_content: 'Paris or Lyon?' }],
    [[text('Par'), { type: 'reference', reference_ids: [1] }, text('is')], { content: 'Paris' }],
    [[thinking, text('Paris')], { content: 'Paris', reasoning_content: 'Paris or Lyon?' }],
    [[], { content: '' }],
  ])('%j are texts', (content, expected) => {
    const [choice] = CHUNK.choices
    const chunk = { ...CHUNK, choices: [{ ...choice, delta: { content } }] }
    expect(completeChunk(chunk, NAME)).toEqual({ ...CHUNK, choices: [{ ...choice, delta: expected }] })
    const [said] = COMPLETION.choices
    const received = { ...COMPLETION, choices: [{ ...said, message: { role: 'assistant', content } }] }
    const message = { role: 'assistant', ...expected }
    expect(completeResponse('chat', received, NAME)).toEqual({ ...COMPLETION, choices: [{ ...said, message }] })
  })
})

test.each([
  ['fractions', 1_744_857_525.254, 1_744_857_525],
  ['milliseconds', 1_744_857_525_254, 1_744_857_525],
  ['a text', '2026-11-23', NAME.created],
])('a time in %s is one in seconds', (_, created, expected) => {
  expect(completeResponse('chat', { ...COMPLETION, created }, NAME)).toEqual({ ...COMPLETION, created: expected })
  expect(completeResponse('images', { ...IMAGES, created }, NAME)).toEqual({ ...IMAGES, created: expected })
  expect(completeChunk({ ...CHUNK, created }, NAME)).toEqual({ ...CHUNK, created: expected })
})

test.each<[string, JobKind, vendor: VendorName | '', JsonObject, JsonObject]>([
  ['without a sum', 'chat', '', { prompt_tokens: 9, completion_tokens: 3 }, USAGE],
  [
    'under other names',
    'chat',
    '',
    { input_tokens: 9, output_tokens: 3 },
    { input_tokens: 9, output_tokens: 3, ...USAGE },
  ],
  [
    'with reasoning in its sum alone',
    'chat',
    'gemini',
    { prompt_tokens: 9, completion_tokens: 3, total_tokens: 20 },
    { prompt_tokens: 9, completion_tokens: 11, total_tokens: 20, completion_tokens_details: { reasoning_tokens: 8 } },
  ],
  [
    'with reasoning beside its completion',
    'chat',
    'xai',
    { prompt_tokens: 9, completion_tokens: 3, total_tokens: 20, completion_tokens_details: { reasoning_tokens: 8 } },
    { prompt_tokens: 9, completion_tokens: 11, total_tokens: 20, completion_tokens_details: { reasoning_tokens: 8 } },
  ],
  [
    'with a sum that an unknown server got wrong',
    'chat',
    '',
    { prompt_tokens: 9, completion_tokens: 3, total_tokens: 20 },
    USAGE,
  ],
  ['of vectors', 'embeddings', '', { prompt_tokens: 9 }, { prompt_tokens: 9, total_tokens: 9 }],
])('usage %s is completed', (_, kind, vendor, usage, expected) => {
  const record = { ...(kind === 'chat' ? COMPLETION : EMBEDDINGS), usage }
  const usageRules = vendor === '' ? {} : VENDOR_PROFILES[vendor].usage
  expect(completeResponse(kind, record, { ...NAME, usageRules })).toEqual({ ...record, usage: expected })
})

test('a chunk that holds filters alone, with empty names, is named', () => {
  const filters = { id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [{}] }
  expect(completeChunk(filters, NAME)).toEqual({ ...filters, ...NAME, object: 'chat.completion.chunk' })
})

test('a choice without a reason has stopped, or calls tools', () => {
  const message = { role: 'assistant', content: null, tool_calls: [{ id: 't', type: 'function' }] }
  const choices = [{ message }, { message: { role: 'assistant', content: 'Hi' } }]
  expect(completeResponse('chat', { ...COMPLETION, choices }, NAME)).toMatchObject({
    choices: [
      { index: 0, finish_reason: 'tool_calls' },
      { index: 1, finish_reason: 'stop' },
    ],
  })
})
