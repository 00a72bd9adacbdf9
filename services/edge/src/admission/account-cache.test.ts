import { expect, test } from 'vitest'
import type { AdmitDecision } from '@gateway/admission/port'
import { openAccountCache } from '../auth/account-cache.ts'
import { cacheRefusals } from './cached-refusals.ts'

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

type Refusal = Extract<AdmitDecision, { kind: 'deny'; retryAfterMs: number }>
const NOW = { plan: 'free', overage: false, limit: 1_000 }

function refusal(reason: Refusal['reason'], retryAfterMs: number): Refusal {
  const quotaStatus = { plan: 'free', limit: 1_000 } as Refusal['quotaStatus']
  return { kind: 'deny', reason, retryAfterMs, quotaStatus }
}

test('a refusal holds for as long as it said, and for a minute at most', () => {
  let nowMs = 0
  const refusals = cacheRefusals(() => nowMs)
  refusals.note('short', refusal('requests', 5_000))
  refusals.note('long', refusal('allowance', 1e9))
  const held = () => ['short', 'long'].filter((account) => refusals.of(account, NOW))
  nowMs = 4_999
  expect(held()).toEqual(['short', 'long'])
  nowMs = 5_000
  expect(held()).toEqual(['long'])
  nowMs = 60_000
  expect(held()).toEqual([])
})

test.each(['tokens', 'plan'] as const)('one for %s depends on the request, so it is not kept', (reason) => {
  const refusals = cacheRefusals()
  refusals.note('account', refusal(reason, 5_000))
  expect(refusals.of('account', NOW)).toBeNull()
})

test('a decision that allows, or another plan, ends it', () => {
  const refusals = cacheRefusals()
  refusals.note('account', refusal('requests', 5_000))
  expect(refusals.of('account', { ...NOW, plan: 'pro' })).toBeNull()
  refusals.note('account', { kind: 'allow', quotaStatus: refusal('requests', 0).quotaStatus, isTight: false })
  expect(refusals.of('account', NOW)).toBeNull()
})
