import fc from 'fast-check'
import { expect, test } from 'vitest'
import { acceptPatienceMs, redispatchDelayMs, type Unavailability } from './redispatch.ts'

const reasons: Unavailability[] = ['no_responder', 'timeout', 'rejected', 'lost', 'busy']

test('a job of a lost or frozen router goes elsewhere at once', () => {
  expect(redispatchDelayMs('lost', 1, 0, 60_000)).toBe(0)
  expect(redispatchDelayMs('timeout', 3, 750, 60_000)).toBe(0)
})

test('a job that nobody accepts is not multiplied: each attempt waits longer', () => {
  expect([1, 2, 3, 4, 5, 6, 2_000].map(acceptPatienceMs)).toEqual([
    undefined,
    undefined,
    500,
    1_000,
    2_000,
    2_000,
    2_000,
  ])
})

test('routers that are late with what they have are asked three times in all', () => {
  expect([1, 2, 3].map((attempt) => redispatchDelayMs('busy', attempt, 0, 60_000))).toEqual([25, 50, null])
})

test('while no router is there, the job waits longer between tries', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7].map((attempt) => redispatchDelayMs('no_responder', attempt, 0, 60_000))
  expect(delays).toEqual([25, 50, 100, 200, 400, 500, 500])
})

test('a job is never dispatched after its time, and never waits for a router for ever', () => {
  const anyCase = fc.record({
    reason: fc.constantFrom(...reasons),
    attempt: fc.integer({ min: 1, max: 10_000 }),
    waitedMs: fc.integer({ min: 0, max: 100_000 }),
    remainingMs: fc.integer({ min: -1_000, max: 600_000 }),
  })
  fc.assert(
    fc.property(anyCase, ({ reason, attempt, waitedMs, remainingMs }) => {
      const delayMs = redispatchDelayMs(reason, attempt, waitedMs, remainingMs)
      if (remainingMs <= 0 || waitedMs >= 15_000) expect(delayMs).toBeNull()
      if (delayMs !== null) expect(delayMs).toBeLessThan(remainingMs)
    }),
  )
})
