import { modelList, tierCatalog } from '@gateway/contracts/catalog'
import { modelConfig, type ModelConfig } from '@gateway/contracts/config'
import { createDefaultConfig } from '@gateway/contracts/default-config'
import { expect, test } from 'vitest'
import { tiersOf, toModelEntries, toModelEntry } from './public-lists.ts'

const model = (fields: object): ModelConfig =>
  modelConfig.parse({ id: 'm', type: 'chat', pool: 'secret-pool', multiplier: 2, ...fields })

test('an entry has the fields of the contract, and nothing of pools, backends or prices', () => {
  const entry = toModelEntry(model({ ownedBy: 'openai' }), 'gpt-5')
  expect(entry).toEqual({ id: 'gpt-5', object: 'model', created: 1_767_225_600, owned_by: 'openai' })
})

test("an announced end is stated, with the model's replacement where it has one", () => {
  const legacy = model({ deprecatedAt: '2026-01-01', sunsetAt: '2027-06-01', replacement: 'svc-core' })
  expect(toModelEntry(legacy, 'm').deprecation).toEqual({
    since: '2026-01-01',
    sunset: '2027-06-01',
    replacement: 'svc-core',
  })
  expect(toModelEntry(model({ sunsetAt: '2027-06-01' }), 'm').deprecation).toEqual({
    since: null,
    sunset: '2027-06-01',
    replacement: null,
  })
})

test('aliases have entries of their own where they are listed', () => {
  const aliases = ['claude-sonnet-4-5', 'gpt-5']
  expect(toModelEntries(model({ aliases })).map(({ id }) => id)).toEqual(['m'])
  expect(toModelEntries(model({ aliases, listed: true })).map(({ id }) => id)).toEqual(['m', ...aliases])
})

test('the tiers are those with a place, in its order, not in the order of the file', () => {
  const models = [
    model({ id: 'c' }),
    model({ id: 'b', order: 2, name: 'Bee', purpose: 'Second.', availability: 'paid' }),
    model({ id: 'a', order: 1 }),
    modelConfig.parse({ id: 'auto', type: 'auto', lanes: ['a'], order: 3, deprecatedAt: '2026-05-01' }),
  ]
  const common = { availability: 'all', purpose: '' }
  expect(tiersOf({ models })).toEqual([
    { ...common, id: 'a', name: 'a', order: 1, multiplier: 2 },
    { id: 'b', name: 'Bee', order: 2, multiplier: 2, availability: 'paid', purpose: 'Second.' },
    {
      ...{ ...common, id: 'auto', name: 'auto', order: 3, multiplier: null },
      deprecation: { since: '2026-05-01', sunset: null, replacement: null },
    },
  ])
})

test("a vendor's model among the tiers has no multiplier", () => {
  const direct = model({ multiplier: undefined, direct: true, order: 1 })
  expect(tiersOf({ models: [direct] })[0]).toMatchObject({ id: 'm', multiplier: null })
})

test('the default lists fit their schemas', () => {
  const { models } = createDefaultConfig()
  expect(modelList.parse({ object: 'list', data: models.flatMap(toModelEntries) }).data).toHaveLength(26)
  expect(tierCatalog.parse({ object: 'catalog', view: 'tiers', data: tiersOf({ models }) }).data).toHaveLength(9)
})
