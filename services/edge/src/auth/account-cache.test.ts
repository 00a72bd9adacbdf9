import { expect, test } from 'vitest'
import { openAccountCache } from './account-cache.ts'

test('an unknown key is remembered briefly, so that it may be minted a moment later', () => {
  let nowMs = 0
  const plans = openAccountCache(() => nowMs)
  plans.cacheUnknownKey('hash')
  expect(plans.isUnknownKey('hash')).toBe(true)
  nowMs = 2_000
  expect(plans.isUnknownKey('hash')).toBe(false)
})

test('a scanner with many keys does not fill the memory: the oldest are forgotten', () => {
  const plans = openAccountCache(() => 0)
  for (let i = 0; i <= 10_000; i++) plans.cacheUnknownKey(`hash-${i}`)
  expect(plans.isUnknownKey('hash-0')).toBe(false)
  expect(plans.isUnknownKey('hash-10000')).toBe(true)
})

const policyFacts = (hint: string, models: string[] | null = null) => ({
  hint,
  project: JSON.stringify({ models: null, hostedTools: [] }),
  key: JSON.stringify({ models, userId: 'user-1' }),
})

test("a key's policy is read once, and replaced when its hint is another", () => {
  const plans = openAccountCache()
  expect(plans.policyOf('hash')).toBeNull()
  const first = plans.rememberPolicy('hash', policyFacts('1.1', ['svc-core']))
  expect(first.keyAllowed).toEqual(new Set(['svc-core']))
  expect(plans.rememberPolicy('hash', policyFacts('1.1', ['svc-core']))).toBe(first)
  expect(plans.policyOf('hash')).toBe(first)
  expect(plans.rememberPolicy('hash', policyFacts('1.2')).keyAllowed).toBeNull()
  plans.cacheDeadKey('hash')
  expect(plans.policyOf('hash')).toBeNull()
})

test('long lists of models do not fill the memory: the policies of the oldest keys are forgotten', () => {
  const { project, key, hint } = policyFacts('1', ['svc-core'])
  const plans = openAccountCache(() => 0, 3 * (project.length + key.length + hint.length))
  for (let i = 0; i < 9; i++) plans.rememberPolicy(`hash-${i}`, policyFacts('1', ['svc-core']))
  const held = () => Array.from({ length: 9 }, (_, i) => i).filter((i) => plans.policyOf(`hash-${i}`))
  expect(held()).toEqual([6, 7, 8])
  // One that alone is too long replaces all others.
  plans.rememberPolicy('hash-1', policyFacts('1', ['x'.repeat(1_000)]))
  expect(held()).toEqual([1])
})

test('a policy that this version cannot read refuses its requests, and nothing is admitted without it', () => {
  const plans = openAccountCache()
  for (const project of ['', '{}', '{"models":{"mode":"of_tomorrow","ids":[]},"hostedTools":[]}'])
    expect(() => plans.rememberPolicy('hash', { ...policyFacts('1'), project })).toThrow(/could not be read/)
})
