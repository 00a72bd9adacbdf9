import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readUsage } from './read-usage.ts'

const count = fc.nat(100_000)
const counts = fc.record({ prompt: fc.integer({ min: 1, max: 100_000 }), completion: count, more: count })

describe('a sum of more than its parts', () => {
  test.each(['gemini', 'vertex', 'google', 'xai'])('is reasoning at %s, and charged as output', (vendor) => {
    fc.assert(
      fc.property(counts, ({ prompt, completion, more }) => {
        const told = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion + more }
        expect(readUsage(told, vendor)).toMatchObject({
          promptTokens: prompt,
          completionTokens: completion + more,
          reasoningTokens: more,
        })
      }),
    )
  })

  test.each(['', 'openai', 'anthropic', 'openrouter', 'vllm'])('charges nothing at %j', (vendor) => {
    fc.assert(
      fc.property(counts, ({ prompt, completion, more }) => {
        const told = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion + more }
        expect(readUsage(told, vendor)).toMatchObject({
          promptTokens: prompt,
          completionTokens: completion,
          reasoningTokens: 0,
        })
      }),
    )
  })
})

test('a sum beside the prompt alone tells the completion, at any server', () => {
  expect(readUsage({ prompt_tokens: 9, total_tokens: 12 }, '')).toMatchObject({
    completionTokens: 3,
    reasoningTokens: 0,
  })
})

test('a sum of less than its parts changes nothing', () => {
  const told = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 5 }
  expect(readUsage(told, 'gemini')).toMatchObject({ promptTokens: 9, completionTokens: 3, reasoningTokens: 0 })
})
