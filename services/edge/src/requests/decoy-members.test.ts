/**
 * The estimate of a part, block or item counts all that a translation may read of it. Members that its type does not have hide
 * nothing. An empty text hides no long one, and the source of a text hides no document.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KINDS } from './kinds.ts'
import type { ClientDialect } from '@gateway/contracts/vendors'

const LONG = 'x'.repeat(5_000)
const WINDOW = 1_000_000
const LANE = { maxOutputTokens: 1 } as never

type Part = Record<string, unknown>

/** The requests that hold this part in each of its places. */
const HOLDING: Record<ClientDialect, ((part: Part) => object)[]> = {
  chat: [(part) => ({ messages: [{ role: 'assistant', content: [part] }] })],
  messages: [
    (part) => ({ max_tokens: 1, messages: [{ role: 'user', content: [part] }] }),
    (part) => ({ max_tokens: 1, system: [part], messages: [{ role: 'user', content: 'Hi' }] }),
    (part) => {
      const result = { type: 'tool_result', tool_use_id: 't', content: [part] }
      return { max_tokens: 1, messages: [{ role: 'user', content: [result] }] }
    },
  ],
  responses: [
    (part) => ({ input: [{ role: 'assistant', content: [part] }] }),
    (part) => ({ input: [{ type: 'function_call_output', call_id: 'c', output: [part] }] }),
  ],
}

function estimatesOf(dialect: ClientDialect, part: Part) {
  return HOLDING[dialect].map((holding) => KINDS[dialect]({ model: 'm', ...holding(part) }, []).estimate(LANE, WINDOW))
}

describe('a long text counts', () => {
  test.each<[dialect: ClientDialect, what: string, part: Part]>([
    ['chat', 'a refusal', { type: 'refusal', refusal: LONG }],
    ['chat', 'a thought', { type: 'thinking', thinking: [{ type: 'text', text: LONG }] }],
    ['messages', 'a call', { type: 'tool_use', id: 't', name: 'f', input: { path: LONG } }],
    ['messages', 'a thought', { type: 'thinking', thinking: LONG, signature: 's' }],
    ['messages', 'a compaction', { type: 'compaction', content: LONG }],
    ['messages', 'a result of a search', { type: 'search_result', content: [{ type: 'text', text: LONG }] }],
    ['messages', 'a document', { type: 'document', source: { type: 'text', media_type: 'text/plain', data: LONG } }],
    ['responses', 'a refusal', { type: 'refusal', refusal: LONG }],
  ])('%s: in %s that has an empty text beside it', (dialect, _what, part) => {
    for (const { maxPromptTokens, usualPromptTokens } of estimatesOf(dialect, { ...part, text: '' })) {
      expect(maxPromptTokens).toBeGreaterThan(LONG.length)
      expect(usualPromptTokens).toBeGreaterThan(LONG.length / 4)
    }
  })

  test.each<[what: string, item: Part]>([
    ['a call', { type: 'function_call', call_id: 'c', name: 'f', arguments: LONG }],
    ['the call of a custom tool', { type: 'custom_tool_call', call_id: 'c', name: 'f', input: LONG }],
    ['the result of a call', { type: 'function_call_output', call_id: 'c', output: LONG }],
    ['a thought', { type: 'reasoning', summary: [{ type: 'summary_text', text: LONG }] }],
    ['a compaction', { type: 'compaction', encrypted_content: LONG }],
  ])('responses: in %s that has the members of a message beside it', (_what, item) => {
    const decoy = { ...item, role: 'assistant', content: '' }
    const { maxPromptTokens, usualPromptTokens } = KINDS.responses({ model: 'm', input: [decoy] }, []).estimate(LANE)
    expect(maxPromptTokens).toBeGreaterThan(LONG.length)
    expect(usualPromptTokens).toBeGreaterThan(LONG.length / 4)
  })
})

test.each<[dialect: ClientDialect, what: string, part: Part]>([
  ['chat', 'a file', { type: 'file', file: { file_id: 'file-1' } }],
  ['chat', 'a video', { type: 'video_url', video_url: { url: 'https://a.test/film.mp4' } }],
  ['responses', 'a file', { type: 'input_file', file_url: 'https://a.test/book.pdf' }],
  ['messages', 'a document', { type: 'document', source: { type: 'url', url: 'https://a.test/book.pdf' } }],
])('%s: %s counts as the window, also with the members of a text beside it', (dialect, _what, part) => {
  const decoys = { text: '', ...(part.source === undefined && { source: { type: 'text' } }) }
  for (const { maxPromptTokens } of estimatesOf(dialect, { ...part, ...decoys })) expect(maxPromptTokens).toBe(WINDOW)
})

/** Readers of these read the text alone. Pictures count by their tiles. */
const READ_ALONE = new Set(['text', 'input_text', 'output_text', 'image_url', 'input_image', 'image', 'tool_result'])

test('no member of a part hides another one, in any dialect', () => {
  const type = fc.oneof(
    fc.constantFrom('refusal', 'thinking', 'tool_use', 'document', 'file', 'input_file', 'compaction', 'search_result'),
    fc.string(),
  )
  const decoys = fc.record(
    { text: fc.string(), source: fc.constantFrom({ type: 'text' }, {}), role: fc.constant('user') },
    { requiredKeys: [] },
  )
  const member = fc.constantFrom('refusal', 'thinking', 'input', 'content', 'title', 'file', 'data', 'name')
  const value = fc.constantFrom<unknown>(LONG, { of: LONG }, [{ type: 'text', text: LONG }])
  fc.assert(
    fc.property(fc.constantFrom('chat', 'messages', 'responses'), type, decoys, member, value, (...drawn) => {
      const [dialect, kind, beside, name, long] = drawn
      fc.pre(!READ_ALONE.has(kind))
      const part = { type: kind, ...beside, [name]: long }
      // The schema of one API may know the member, as something else.
      const estimates = tryOr(() => estimatesOf(dialect, part), [])
      for (const { maxPromptTokens } of estimates) expect(maxPromptTokens).toBeGreaterThan(LONG.length)
    }),
    { numRuns: 200 },
  )
})

function tryOr<Result>(work: () => Result, otherwise: Result): Result {
  try {
    return work()
  } catch {
    return otherwise
  }
}
