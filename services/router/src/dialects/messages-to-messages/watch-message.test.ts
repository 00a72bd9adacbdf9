import { describe, expect, test } from 'vitest'
import { MessageWatch } from './watch-message.ts'

const START = { input_tokens: 25, cache_read_input_tokens: 10, output_tokens: 1 }

function usageOf(start: object, ...deltas: object[]) {
  const watch = new MessageWatch()
  watch.note({ type: 'message_start', message: { usage: start } })
  for (const usage of deltas) watch.note({ type: 'message_delta', delta: {}, usage })
  return watch.progress.usage
}

describe('the counts of a stream add up', () => {
  test.each([
    ['the output alone', { output_tokens: 5 }],
    ['all of them again', { ...START, output_tokens: 5 }],
    // envoyproxy/ai-gateway#1631, 2025-12-06; sgl-project/sglang#20830, 2026-03-18.
    ['zeros for what the start has told', { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 }],
  ])('where the end reports %s', (_, delta) => {
    expect(usageOf(START, delta)).toMatchObject({ promptTokens: 35, cachedTokens: 10, completionTokens: 5 })
  })

  test('of writes for an hour', () => {
    const written = (tokens: number) => ({
      cache_creation_input_tokens: tokens,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: tokens },
    })
    const usage = usageOf({ ...START, ...written(40) }, { ...written(0), output_tokens: 5 })
    expect(usage).toMatchObject({ promptTokens: 75, cacheWriteTokens: 40, cacheWriteHourTokens: 40 })
  })

  test('where the start reports zeros and the end the prompt', () => {
    const nothing = { input_tokens: 0, output_tokens: 0 }
    expect(usageOf(nothing, { input_tokens: 25, output_tokens: 5 })).toMatchObject({ promptTokens: 25 })
  })

  test('where the model has read the results of its tools', () => {
    const ends = [{ output_tokens: 5 }, { input_tokens: 900, output_tokens: 9 }]
    expect(usageOf(START, ...ends)).toMatchObject({ promptTokens: 910, completionTokens: 9 })
  })

  test('of a response without a word: the start reported a figure ahead', () => {
    expect(usageOf(START, { output_tokens: 0 })).toMatchObject({ promptTokens: 35, completionTokens: 0 })
  })
})
