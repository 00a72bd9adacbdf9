import { createDefaultConfig } from '@gateway/contracts/default-config'
import { expect, test } from 'vitest'
import { listModels } from './list-models.ts'

const config = createDefaultConfig()
const listed = listModels(config)
const find = (id: string) => listed.find((model) => model.id === id)!

test('every model of the config is listed, with the backends of its pool', () => {
  expect(listed.map(({ id }) => id)).toEqual(config.models.map(({ id }) => id))
  for (const { pool, targets } of listed.filter(({ type }) => type !== 'auto')) {
    const configured = config.pools.find(({ id }) => id === pool)!
    expect(targets.map(({ backend, model }) => [backend, model])).toEqual(
      configured.targets.map(({ backend, model }) => [backend, model]),
    )
  }
})

test('a lane has its multiplier and the plans that include it', () => {
  expect(find('svc-core')).toMatchObject({ multiplier: 3.75, rates: null, lanes: [] })
  expect(find('svc-instant').plans).toContain('guest-device')
  expect(find('svc-core').plans).not.toContain('guest-device')
})

test('Auto has its lanes and no price of its own', () => {
  const auto = listed.find(({ type }) => type === 'auto')!
  expect(auto).toMatchObject({ pool: null, multiplier: null, rates: null, targets: [] })
  expect(auto.lanes).toContain('svc-core')
})

test("a vendor's own model has the vendor's rates, with their source, and no multiplier", () => {
  const direct = config.models.find((model) => model.type === 'chat' && model.direct)!
  const rates = { inputUsdPerMillion: 1.25, outputUsdPerMillion: 10, source: 'a list', asOf: '2026-01-01' }
  const [model] = listModels({ ...config, models: [{ ...direct, rates } as typeof direct] })
  expect(model).toMatchObject({
    multiplier: null,
    rates: {
      input_usd_per_million: 1.25,
      output_usd_per_million: 10,
      cached_input_usd_per_million: null,
      source: 'a list',
      as_of: '2026-01-01',
    },
  })
})
