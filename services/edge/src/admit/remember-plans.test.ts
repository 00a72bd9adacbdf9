import { expect, test } from 'vitest'
import { rememberPlans } from './remember-plans.ts'

test('an unknown key is remembered briefly, so that it may be minted a moment later', () => {
  let nowMs = 0
  const plans = rememberPlans(() => nowMs)
  plans.rememberUnknownKey('hash')
  expect(plans.isUnknownKey('hash')).toBe(true)
  nowMs = 2_000
  expect(plans.isUnknownKey('hash')).toBe(false)
})

test('a scanner with many keys does not fill the memory: the oldest are forgotten', () => {
  const plans = rememberPlans(() => 0)
  for (let i = 0; i <= 10_000; i++) plans.rememberUnknownKey(`hash-${i}`)
  expect(plans.isUnknownKey('hash-0')).toBe(false)
  expect(plans.isUnknownKey('hash-10000')).toBe(true)
})
