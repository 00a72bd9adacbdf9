import { expect, test } from 'vitest'
import { configFile, type ConfigFileInput, type ConfigSections } from './config.ts'
import { createDefaultConfig, LEGACY_MODEL_IDS } from './default-config.ts'
import { findOversights } from './find-oversights.ts'

const GUESTS = { slug: 'guest-device', limit: 1, rpm: 1, tpm: 1, perDay: 1, guest: true }
const FREE = { slug: 'free', limit: 1, rpm: 1, tpm: 1, default: true }
const COMPLETE = {
  backends: [{ id: 'gpu-a', url: 'http://gpu-a/v1', dialect: 'openai' }],
  pools: [{ id: 'spark', targets: [{ backend: 'gpu-a', model: 'm' }] }],
  models: [
    { id: 'chat', type: 'chat', pool: 'spark', multiplier: 1, availability: 'all', guest: true, default: true },
    ...LEGACY_MODEL_IDS.map((id) => ({ id, type: 'chat' as const, pool: 'spark', replacement: 'chat' })),
  ],
  plans: [GUESTS, FREE],
} satisfies ConfigFileInput

function oversights(file: ConfigFileInput): [string, string][] {
  const { backends = [], pools = [], models = [], plans = [] } = configFile.parse({ ...COMPLETE, ...file })
  const named = new Set(Object.keys({ ...COMPLETE, ...file }) as (keyof ConfigSections)[])
  return findOversights({ backends, pools, models, plans }, named).map(({ path, message }) => [path.join('.'), message])
}

test('a configuration in which everything is reached has none', () => {
  expect(oversights({})).toEqual([])
  expect(findOversights(createDefaultConfig(), new Set(['backends', 'pools', 'models', 'plans']))).toEqual([])
})

test('a backend that no pool calls, a pool that no model uses, and a target that stands twice are named', () => {
  const target = { backend: 'gpu-a', model: 'm' }
  const found = oversights({
    backends: [...COMPLETE.backends, { ...COMPLETE.backends[0]!, id: 'gpu-b' }],
    pools: [
      { id: 'spark', targets: [target, { ...target, model: 'n' }, { ...target, priority: 2 }] },
      { id: 'lonely', targets: [target] },
    ],
  })
  expect(found).toEqual([
    ['backends.1.id', expect.stringContaining('"gpu-b" is never called')],
    ['pools.1.id', expect.stringContaining('"lonely" is never reached')],
    ['pools.0.targets.2', expect.stringContaining('targets[0]')],
  ])
})

test('a model that no plan includes, and Auto where all its lanes are refused, are named', () => {
  const [chat] = COMPLETE.models
  const found = oversights({
    models: [
      ...COMPLETE.models,
      { ...chat!, id: 'paid', availability: 'paid', guest: false, default: false },
      { id: 'auto', type: 'auto', lanes: ['paid'], availability: 'all' },
    ],
  })
  expect(found).toEqual([
    [`models.${COMPLETE.models.length}.id`, expect.stringContaining('"paid" is refused to everybody')],
    ['plans.1.slug', expect.stringContaining('includes "auto" and none of its lanes')],
  ])
})

test('requests without a model, and legacy ids, that find nothing are named', () => {
  const [chat] = COMPLETE.models
  expect(oversights({ models: [{ ...chat!, default: false }] })).toEqual([
    ['models', expect.stringContaining('lack "svc-chat-md", so requests that name no model')],
    ['models', expect.stringContaining('lack svc-ultra, svc-ultra-pro, ')],
  ])
})

test('a default that the file does not name is not its fault', () => {
  const { backends, pools, models, plans } = configFile.parse(COMPLETE) as ConfigSections
  const unused = { backends: [...backends, { ...backends[0]!, id: 'gpu-b' }], pools, models, plans }
  expect(findOversights(unused, new Set(['models']))).toEqual([])
})
