import { modelConfig, type ModelConfig, planConfig } from '@gateway/contracts/config'
import { planRecord } from '@gateway/contracts/plan-api'
import { expect, test } from 'vitest'
import { modelsOnPlan } from '../accounts/show-account.ts'

const model = (fields: object): ModelConfig => modelConfig.parse({ type: 'chat', pool: 'p', ...fields })
const rates = { inputUsdPerMillion: 1.25, outputUsdPerMillion: 10, cachedInputUsdPerMillion: 0.125 }
const models = [
  model({ id: 'legacy', multiplier: 2, replacement: 'b' }),
  model({ id: 'b', multiplier: 3.75, order: 2, name: 'Bee', availability: 'paid', purpose: 'For bees.' }),
  modelConfig.parse({ id: 'auto', type: 'auto', lanes: ['b'], order: 1, name: 'Auto' }),
  model({ id: 'vendor', direct: true, ownedBy: 'acme', rates }),
]
const plan = (fields: object) => planConfig.parse({ slug: 'x', limit: 1, rpm: 1, tpm: 1, ...fields })

test('tiers come first, in their order, each with its price on the plan and whether it is included', () => {
  const listed = modelsOnPlan({ models }, plan({}))
  expect(planRecord.shape.models.parse(listed)).toEqual(listed)
  expect(listed.map(({ id, included, price }) => [id, included, price])).toEqual([
    ['auto', true, null],
    ['b', false, { multiplier: 3.75 }],
    ['legacy', true, { multiplier: 2 }],
    ['vendor', false, null],
  ])
  expect(listed[1]).toMatchObject({ name: 'Bee', type: 'chat', purpose: 'For bees.', replacement: null })
  expect(listed[2]).toMatchObject({ name: null, replacement: 'b' })
})

test('pay-as-you-go has prices in dollars, vendors’ models included', () => {
  const listed = modelsOnPlan({ models }, plan({ unit: 'usd', paid: true, payAsYouGo: true }))
  expect(listed.map(({ id, included, price }) => [id, included, price])).toEqual([
    ['auto', true, null],
    ['b', true, { usd_per_million: 11.25 }],
    ['legacy', true, { usd_per_million: 6 }],
    [
      'vendor',
      true,
      expect.objectContaining({
        input_usd_per_million: 1.25,
        cached_input_usd_per_million: 0.125,
        output_usd_per_million: 10,
      }),
    ],
  ])
})
