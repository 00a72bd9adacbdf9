import { describe, expect, test } from 'vitest'
import { checkConfig } from './check-config.ts'
import { completeConfig } from './complete-config.ts'
import type { ModelConfig } from './config.ts'
import { createDefaultConfig } from './default-config.ts'

const { sections: config, unservedModels } = completeConfig(
  {},
  {
    ratesOf: () => ({ inputUsdPerMillion: 1, outputUsdPerMillion: 2 }),
    toolsOf: () => ({}),
  },
)

function model(id: string): ModelConfig {
  const found = config.models.find((candidate) => candidate.id === id)
  if (!found) throw new Error(`${id} is not in the default configuration`)
  return found
}

const multiplierOf = (id: string) => {
  const found = model(id)
  return found.type === 'auto' ? null : found.multiplier
}

describe("the contract's catalog", () => {
  test.each([
    [
      1,
      'Auto',
      'svc-best',
      null,
      'all',
      'Picks a lane per message (Spark, Bolt, Nova, Atlas, Research or Code). Billed at the routed lane.',
    ],
    [2, 'Spark', 'svc-instant', 1, 'all', 'Fastest lane. Free tier.'],
    [3, 'Bolt', 'svc-fast', 1.5, 'all', 'Quick everyday chat, low cost.'],
    [4, 'Nova', 'svc-core', 3.75, 'all', 'Balanced flagship.'],
    [5, 'Atlas', 'svc-pro', 6.7, 'paid', 'Deep multi-step reasoning; higher latency.'],
    [6, 'Research', 'svc-research', 2.3, 'paid', 'Web-grounded research with citations.'],
    [7, 'Apex', 'svc-max', 13.3, 'paid', 'Most capable, very large context window.'],
    [8, 'Code', 'svc-code', 1, 'paid', 'Code generation, review, refactoring.'],
    [9, 'Vision', 'svc-vision', 1.25, 'paid', 'Multimodal chat over image inputs.'],
  ])('tier %i is %s, %s, at %sx, for %s', (order, name, id, multiplier, availability, purpose) => {
    expect(model(id)).toMatchObject({ order, name, availability, purpose, ownedBy: 'svc' })
    expect(multiplierOf(id)).toBe(multiplier)
  })

  test('Auto chooses among Spark, Bolt, Nova, Atlas, Research and Code', () => {
    const auto = model('svc-best')
    const names = auto.type === 'auto' ? auto.lanes.map((lane) => model(lane).name) : []
    expect(names).toEqual(['Spark', 'Bolt', 'Nova', 'Atlas', 'Research', 'Code'])
  })

  test.each([
    ['svc-embed', 'embeddings'],
    ['svc-embed-fast', 'embeddings'],
    ['svc-image', 'images'],
    ['svc-agent', 'chat'],
  ])('%s is of type %s, for all, at 1x, and no tier', (id, type) => {
    expect(model(id)).toMatchObject({ type, availability: 'all', multiplier: 1 })
    expect(model(id).name).toBeUndefined()
    expect(model(id).order).toBeUndefined()
  })

  test.each([
    ['svc-ultra', 'all', 'svc-core'],
    ['svc-ultra-pro', 'all', 'svc-pro'],
    ['svc-ultra-research', 'all', 'svc-research'],
    ['svc-chat-sm', 'all', 'svc-instant'],
    ['svc-chat-md', 'all', 'svc-fast'],
    ['svc-chat-lg', 'paid', 'svc-core'],
    ['svc-reason', 'paid', 'svc-pro'],
  ])('the legacy id %s is for %s, and costs as much as %s', (id, availability, replacement) => {
    expect(model(id)).toMatchObject({ type: 'chat', availability, replacement, deprecatedAt: '2026-01-01' })
    expect(multiplierOf(id)).toBe(multiplierOf(replacement))
    expect(multiplierOf(id)).toBeGreaterThan(0)
  })

  test.each([
    ['gpt-5', 'openai'],
    ['gpt-5-mini', 'openai'],
    ['claude-sonnet-4-6', 'anthropic'],
    ['claude-haiku-4-5', 'anthropic'],
    ['gemini-2.5-pro', 'google'],
    ['gemini-2.5-flash', 'google'],
  ])('%s of %s is there under its own id, at rates that the config does not name', (id, ownedBy) => {
    const direct = createDefaultConfig().models.find((candidate) => candidate.id === id)
    expect(direct).toMatchObject({ type: 'chat', direct: true, ownedBy })
    expect(direct).not.toHaveProperty('rates')
    expect(direct).not.toHaveProperty('multiplier')
  })

  test('has no other model', () => {
    expect(config.models).toHaveLength(26)
    expect(unservedModels).toEqual([])
  })

  test('the guest tier has the models that guests may use', () => {
    expect(config.models.filter(({ guest }) => guest).map(({ id }) => id)).toEqual([
      ...['svc-best', 'svc-instant', 'svc-fast', 'svc-embed', 'svc-embed-fast', 'svc-chat-sm', 'svc-chat-md'],
    ])
  })
})

test.each([
  ['guest-device', { unit: 'tokens', limit: 200_000, rpm: 10, tpm: 20_000, perDay: 50, guest: true, paid: false }],
  ['free', { unit: 'tokens', limit: 1_000_000, rpm: 60, tpm: 60_000, default: true, paid: false }],
  ['pro', { unit: 'tokens', limit: 50_000_000, rpm: 600, tpm: 1_000_000, paid: true, payAsYouGo: false }],
  ['payg', { unit: 'usd', limit: 100, rpm: 600, tpm: 1_000_000, paid: true, payAsYouGo: true }],
])('the plan %s is there', (slug, fields) => {
  expect(config.plans.find((plan) => plan.slug === slug)).toMatchObject(fields)
})

test('everything fits together', () => {
  expect(checkConfig(config)).toEqual([])
})

test('every lane has a cap on its output, which leaves at least half of its smallest context window to the prompt', () => {
  const faulty = config.models.filter((served) => {
    if (served.type === 'auto' || served.type === 'embeddings') return false
    const pool = config.pools.find(({ id }) => id === served.pool)
    const smallest = Math.min(...(pool?.targets ?? []).map((target) => target.contextWindow ?? 0))
    const longest = served.maxOutputTokens ?? Infinity
    return served.type === 'chat' ? longest > smallest / 2 : longest === Infinity
  })
  expect(faulty).toEqual([])
})

test('every pool has a second backend to fail over to, and no two pools serve the same backend model', () => {
  for (const pool of config.pools) expect(new Set(pool.targets.map((target) => target.backend)).size).toBe(2)
  expect(new Set(config.pools.map((pool) => pool.targets[0]?.model)).size).toBe(config.pools.length)
})

test('the simulated backends are found through the environment, or where the caller says', () => {
  expect(createDefaultConfig().backends.map(({ url }) => url)).toEqual([
    '${SIMULATED_BACKEND_URL}',
    '${SIMULATED_BACKEND_URL}',
  ])
  const url = 'http://127.0.0.1:4000/v1'
  expect(createDefaultConfig({ simulatedBackendUrl: url }).backends.map((backend) => backend.url)).toEqual([url, url])
})
