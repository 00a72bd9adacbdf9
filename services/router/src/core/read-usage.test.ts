import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { VENDOR_PROFILES } from '../vendors/index.ts'
import { readUsage } from './chat-chunk.ts'

const count = fc.nat(100_000)
const counts = fc.record({ prompt: fc.integer({ min: 1, max: 100_000 }), completion: count, more: count })

describe('a sum of more than its parts', () => {
  test.each(['gemini', 'vertex', 'xai'] as const)('is reasoning at %s, and charged as output', (vendor) => {
    fc.assert(
      fc.property(counts, ({ prompt, completion, more }) => {
        const reported = {
          prompt_tokens: prompt,
          completion_tokens: completion,
          total_tokens: prompt + completion + more,
        }
        expect(readUsage(reported, VENDOR_PROFILES[vendor].usage)).toMatchObject({
          promptTokens: prompt,
          completionTokens: completion + more,
          reasoningTokens: more,
        })
      }),
    )
  })

  test.each(['openai', 'anthropic', 'openrouter', 'vllm'] as const)('charges nothing at %j', (vendor) => {
    fc.assert(
      fc.property(counts, ({ prompt, completion, more }) => {
        const reported = {
          prompt_tokens: prompt,
          completion_tokens: completion,
          total_tokens: prompt + completion + more,
        }
        expect(readUsage(reported, VENDOR_PROFILES[vendor].usage)).toMatchObject({
          promptTokens: prompt,
          completionTokens: completion,
          reasoningTokens: 0,
        })
      }),
    )
  })
})

test.each([
  ['chat', 'prompt_tokens', 'prompt_tokens_details'],
  ['Responses', 'input_tokens', 'input_tokens_details'],
])('tokens that a server of %s wrote to its cache are reported apart, as part of the prompt', (_, prompt, details) => {
  const read = (cached: number, written: number) =>
    readUsage({ [prompt]: 9, output_tokens: 1, [details]: { cached_tokens: cached, cache_write_tokens: written } })
  expect(read(2, 5)).toMatchObject({ promptTokens: 9, cachedTokens: 2, cacheWriteTokens: 5 })
  expect(read(8, 5)).toMatchObject({ promptTokens: 9, cachedTokens: 8, cacheWriteTokens: 1 })
  expect(read(9, 0)).not.toHaveProperty('cacheWriteTokens')
})

test('a sum beside the prompt alone reports the completion, at any server', () => {
  expect(readUsage({ prompt_tokens: 9, total_tokens: 12 })).toMatchObject({
    completionTokens: 3,
    reasoningTokens: 0,
  })
})

test('a count that no request has is a fault of the server: nothing of its usage is believed', () => {
  const reported = { prompt_tokens: 9, completion_tokens: 3 }
  for (const absurd of [1e10, Number.MAX_SAFE_INTEGER]) {
    expect(readUsage({ ...reported, prompt_tokens: absurd })).toBeNull()
    expect(readUsage({ ...reported, completion_tokens: absurd })).toBeNull()
    expect(readUsage({ input_tokens: absurd, output_tokens: 3 })).toBeNull()
    expect(readUsage({ ...reported, total_tokens: absurd }, VENDOR_PROFILES.gemini.usage)).toMatchObject({
      completionTokens: 3,
    })
  }
})

test('a sum of less than its parts changes nothing', () => {
  const reported = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 5 }
  expect(readUsage(reported, VENDOR_PROFILES.gemini.usage)).toMatchObject({
    promptTokens: 9,
    completionTokens: 3,
    reasoningTokens: 0,
  })
})
