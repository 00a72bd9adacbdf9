import fc from 'fast-check'
import { usageRecord } from '@gateway/contracts/usage-api'
import { expect, test } from 'vitest'
import { toUsageRecord } from './usage-record.ts'

const QUESTION = { from: '2026-11-01', to: '2026-11-30' }
const figures = { requests: 2, promptTokens: 900, completionTokens: 100, cachedTokens: 64 }

test('each group stands in the units that people read, with their sum beside them', () => {
  const groups = [
    { name: 'svc-core', ...figures, milliTokens: 3_750_000, nanoUsd: 0 },
    { name: 'gpt-5', ...figures, milliTokens: 0, nanoUsd: 2_125_001 },
  ]
  const counts = { requests: 2, prompt_tokens: 900, completion_tokens: 100, cached_tokens: 64, total_tokens: 1_000 }
  expect(toUsageRecord({ ...QUESTION, group_by: 'model' }, groups)).toEqual({
    object: 'usage',
    ...QUESTION,
    group_by: 'model',
    data: [
      { model: 'svc-core', ...counts, allowance_tokens: 3_750, cost_usd: 0 },
      { model: 'gpt-5', ...counts, allowance_tokens: 0, cost_usd: 0.002125001 },
    ],
    totals: {
      requests: 4,
      prompt_tokens: 1_800,
      completion_tokens: 200,
      cached_tokens: 128,
      total_tokens: 2_000,
      allowance_tokens: 3_750,
      cost_usd: 0.002125001,
    },
  })
})

test('nothing used is an empty list and totals of nothing', () => {
  const { data, totals } = toUsageRecord({ ...QUESTION, group_by: 'day' }, [])
  expect(data).toEqual([])
  expect(Object.values(totals)).toEqual([0, 0, 0, 0, 0, 0, 0])
})

test('totals are exact where adding up fractions would not be', () => {
  const amount = fc.nat({ max: 10 ** 12 })
  fc.assert(
    fc.property(fc.array(amount, { minLength: 1 }), (amounts) => {
      const groups = amounts.map((nanoUsd, day) => ({
        name: `2026-11-${String((day % 30) + 1).padStart(2, '0')}`,
        ...figures,
        milliTokens: nanoUsd,
        nanoUsd,
      }))
      const { totals } = usageRecord.parse(toUsageRecord({ ...QUESTION, group_by: 'day' }, groups))
      const sum = amounts.reduce((a, b) => a + b, 0)
      expect([totals.cost_usd, totals.allowance_tokens]).toEqual([sum / 1e9, sum / 1e3])
    }),
  )
})
