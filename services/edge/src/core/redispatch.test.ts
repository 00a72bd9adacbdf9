import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MOST_LOSSES, redispatch, type Unavailability } from './redispatch.ts'

const reasons: Unavailability[] = ['no_responder', 'timeout', 'rejected', 'lost', 'busy']

const delayMs = (...unserved: Parameters<typeof redispatch>) => redispatch(...unserved)?.afterMs ?? null

const FRESH = { attempt: 1, losses: 0, waitedMs: 0, remainingMs: 60_000 }

test('a job of a frozen router goes elsewhere at once', () => {
  expect(delayMs({ ...FRESH, reason: 'timeout', attempt: 3, waitedMs: 750 })).toBe(0)
})

test('a job that loses router after router waits longer each time, and is given up at the third', () => {
  const delays = [1, 2, 3, 4].map((losses) => delayMs({ ...FRESH, reason: 'lost', losses }))
  expect(delays).toEqual([250, 1_000, null, null])
})

test('a job that nobody accepts is not multiplied: each attempt waits longer', () => {
  const dispatched = [1, 2, 3, 4, 5, 1_999].map((attempt) => redispatch({ ...FRESH, reason: 'timeout', attempt }))
  expect(dispatched.map((again) => again?.acceptTimeoutMs)).toEqual([undefined, 500, 1_000, 2_000, 2_000, 2_000])
})

test('routers that are late with what they have are asked three times in all', () => {
  const delays = [1, 2, 3].map((attempt) => delayMs({ ...FRESH, reason: 'busy', attempt }))
  expect(delays).toEqual([25, 50, null])
})

test('while no router is there, the job waits longer between tries', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7].map((attempt) => delayMs({ ...FRESH, reason: 'no_responder', attempt }))
  expect(delays).toEqual([25, 50, 100, 200, 400, 500, 500])
})

test('a job is never dispatched after its time, and never waits for a router for ever', () => {
  const anyCase = fc.record({
    reason: fc.constantFrom(...reasons),
    attempt: fc.integer({ min: 1, max: 10_000 }),
    losses: fc.integer({ min: 0, max: 10 }),
    waitedMs: fc.integer({ min: 0, max: 100_000 }),
    remainingMs: fc.integer({ min: -1_000, max: 600_000 }),
  })
  fc.assert(
    fc.property(anyCase, (unserved) => {
      const again = redispatch(unserved)
      const { waitedMs, remainingMs, losses } = unserved
      if (remainingMs <= 0 || waitedMs >= 15_000 || losses >= MOST_LOSSES) expect(again).toBeNull()
      if (again) expect(again.afterMs).toBeLessThan(remainingMs)
    }),
  )
})
