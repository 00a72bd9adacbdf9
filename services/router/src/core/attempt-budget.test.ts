import { describe, expect, test } from 'vitest'
import { earn, endsAttempt, newRetryBudget, pauseBeforeRepeat, spend, wasFaster, type RetryBudget } from './attempts.ts'

describe('repeats are rationed', () => {
  test('a failing pool gets ten at once and then one for every ten requests', () => {
    let budget: RetryBudget = newRetryBudget()
    let repeats = 0
    for (let request = 0; request < 100; request++) {
      budget = earn(budget)
      for (let left = spend(budget); left; left = spend(budget)) {
        budget = left
        repeats++
      }
    }
    expect(repeats).toBeGreaterThanOrEqual(18)
    expect(repeats).toBeLessThanOrEqual(20)
  })

  test('a repeat waits a little, longer the second time, and as long as the backend requested', () => {
    const pause = (repeats: number, retryAfterMs?: number) =>
      pauseBeforeRepeat({ repeats, retryAfterMs, remainingMs: 60_000, random: 0.5 })
    expect(pause(0)).toBe(50)
    expect(pause(1)).toBe(100)
    expect(pause(0, 2_000)).toBe(2_000)
  })

  test('a repeat that would wait too long is not made', () => {
    expect(pauseBeforeRepeat({ repeats: 0, retryAfterMs: 30_000, remainingMs: 600_000, random: 0 })).toBeNull()
    expect(pauseBeforeRepeat({ repeats: 0, retryAfterMs: 600, remainingMs: 1_000, random: 0 })).toBeNull()
  })
})

test.each([
  { stream: true, others: true, silence: 'first_byte_timeout', ends: true },
  { stream: true, others: false, silence: 'first_byte_timeout', ends: false },
  { stream: true, others: true, silence: 'idle_timeout', ends: true },
  { stream: true, others: false, silence: 'idle_timeout', ends: true },
  { stream: false, others: true, silence: 'first_byte_timeout', ends: true },
  { stream: false, others: false, silence: 'first_byte_timeout', ends: false },
  { stream: false, others: true, silence: 'idle_timeout', ends: true },
  { stream: false, others: false, silence: 'idle_timeout', ends: false },
] as const)('stream: $stream, other targets: $others, $silence', ({ stream, others, silence, ends }) => {
  expect(endsAttempt(silence, { stream, othersLeft: () => others })).toBe(ends)
})

test('a target that is as slow as the one before it proves nothing against that one', () => {
  expect(wasFaster(900, 1_000)).toBe(true)
  expect(wasFaster(1_000, 1_000)).toBe(false)
})
