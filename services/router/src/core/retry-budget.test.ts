import { describe, expect, test } from 'vitest'
import { readRetryAfterMs } from './retry-after.ts'
import { earn, newRetryBudget, pauseBeforeRepeat, spend, type RetryBudget } from './retry-budget.ts'

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

  test('a repeat waits a little, longer the second time, and as long as the backend asked', () => {
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

describe('the time that a backend asks for', () => {
  const now = Date.parse('2026-11-21T00:00:00Z')
  test.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ 'retry-after': 'Sat, 21 Nov 2026 00:00:10 GMT' }, 10_000],
    [{ 'retry-after': 'Fri, 20 Nov 2026 00:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{}, null],
  ])('%j is %s ms', (headers, expected) => {
    expect(readRetryAfterMs(headers as Record<string, string>, now)).toBe(expected)
  })
})
