import fc from 'fast-check'
import { expect, test } from 'vitest'
import { afterAttempt, GIVE_UP_AFTER_MS } from './delivery-attempts.ts'

const FAILED = { kind: 'failed', fault: 'no' } as const
const HOUR_MS = 3_600_000

test.each([
  [{ kind: 'delivered' }, { state: 'delivered' }],
  [
    { kind: 'gone', fault: '410' },
    { state: 'disabled', fault: '410' },
  ],
  [
    { kind: 'rejected', fault: '550' },
    { state: 'dead', fault: '550' },
  ],
  [FAILED, { state: 'waiting', delayMs: 5_000, fault: 'no' }],
] as const)('an attempt that is $kind decides the state of its delivery', (outcome, next) => {
  expect(afterAttempt(outcome, { attempts: 1, ageMs: 0, chance: 0.5 })).toEqual(next)
})

test('a receiver that stays away gets attempts for a day, ever further apart and at most six hours', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), { minLength: 60 }),
      (chances) => {
        let ageMs = 0
        let attempts = 0
        const delays: number[] = []
        for (;;) {
          const next = afterAttempt(FAILED, { attempts: ++attempts, ageMs, chance: chances[attempts]! })
          if (next.state === 'dead') break
          if (next.state !== 'waiting') throw new Error(next.state)
          delays.push(next.delayMs)
          ageMs += next.delayMs
        }
        expect(ageMs).toBeGreaterThanOrEqual(GIVE_UP_AFTER_MS)
        expect(ageMs).toBeLessThan(GIVE_UP_AFTER_MS + 2)
        expect(attempts).toBeGreaterThan(8)
        expect(attempts).toBeLessThan(20)
        expect(Math.max(...delays)).toBeLessThanOrEqual(6 * HOUR_MS * 1.2)
        expect(Math.min(...delays.slice(0, -1))).toBeGreaterThanOrEqual(4_000)
      },
    ),
  )
})

test('a delivery that waited for a day behind others gets its attempt, and no second one', () => {
  expect(afterAttempt(FAILED, { attempts: 1, ageMs: GIVE_UP_AFTER_MS, chance: 0 })).toEqual({
    state: 'dead',
    fault: 'no',
  })
})

test('deliveries that failed together are not tried again together', () => {
  const delays = Array.from({ length: 10 }, (_, index) =>
    afterAttempt(FAILED, { attempts: 3, ageMs: 0, chance: index / 10 }),
  )
  expect(new Set(delays.map((next) => (next.state === 'waiting' ? next.delayMs : 0))).size).toBe(10)
})
