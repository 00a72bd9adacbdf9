import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BUSY_TIMEOUT_MS, MOST_LOSSES, retry, type Unavailability } from './dispatch-retries.ts'

const reasons: Unavailability[] = ['no_responder', 'timeout', 'rejected', 'lost', 'busy']

const delayMs = (...unserved: Parameters<typeof retry>) => retry(...unserved)?.afterMs ?? null

const FRESH = { attempt: 1, losses: 0, waitedMs: 0, remainingMs: 60_000 }

test('a job of a frozen router goes elsewhere at once', () => {
  expect(delayMs({ ...FRESH, reason: 'timeout', attempt: 3, waitedMs: 750 })).toBe(0)
})

test('a job that loses its router goes to another, and to a third, and is given up when it loses that, too', () => {
  const delays = [1, 2, 3].map((losses) => delayMs({ ...FRESH, reason: 'lost', losses }))
  expect(delays).toEqual([250, 250, null])
})

test('a job that nobody accepts is not multiplied: each attempt waits longer', () => {
  const dispatched = [1, 2, 3, 4, 5, 1_999].map((attempt) => retry({ ...FRESH, reason: 'timeout', attempt }))
  expect(dispatched.map((again) => again?.acceptTimeoutMs)).toEqual([undefined, 500, 1_000, 2_000, 2_000, 2_000])
})

test('routers that are late with their jobs get dispatches for three seconds, less and less often', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7].map((attempt) => delayMs({ ...FRESH, reason: 'busy', attempt }))
  expect(delays).toEqual([25, 50, 100, 200, 400, 500, 500])
  expect(delayMs({ ...FRESH, reason: 'busy', attempt: 2, waitedMs: BUSY_TIMEOUT_MS - 1 })).not.toBeNull()
  expect(delayMs({ ...FRESH, reason: 'busy', attempt: 2, waitedMs: BUSY_TIMEOUT_MS })).toBeNull()
})

test('late routers that take 32 jobs in each turn of up to 400 ms serve a burst of 240 whole', () => {
  const turnsOf = fc.record({ first: fc.integer({ min: 20, max: 400 }), second: fc.integer({ min: 20, max: 400 }) })
  fc.assert(
    fc.property(turnsOf, ({ first, second }) => {
      const routers = [lateRouter(first), lateRouter(second)]
      let requests = 0
      expect(serve(240, () => routers[requests++ % 2]!)).toBe(240)
    }),
  )
})

const TAKEN_PER_TURN = 32

/** Says at the end of its turn whether it takes the job, and when that is. */
function lateRouter(turnMs: number) {
  const taken = new Map<number, number>()
  return (requestedAtMs: number): { isAccepted: boolean; atMs: number } => {
    const turn = Math.ceil(requestedAtMs / turnMs)
    const count = taken.get(turn) ?? 0
    taken.set(turn, count + 1)
    return { isAccepted: count < TAKEN_PER_TURN, atMs: turn * turnMs }
  }
}

/** The number of jobs that routers take, of those that come in the same moment. */
function serve(jobs: number, anyRouter: () => ReturnType<typeof lateRouter>): number {
  let served = 0
  const queue = Array.from({ length: jobs }, () => ({ atMs: 1, attempt: 1 }))
  for (let job = queue.shift(); job; job = queue.sort((a, b) => a.atMs - b.atMs).shift()) {
    const { isAccepted, atMs } = anyRouter()(job.atMs)
    if (isAccepted) served++
    const { attempt } = job
    const again = isAccepted ? null : retry({ ...FRESH, reason: 'busy', attempt, waitedMs: atMs - 1 })
    if (again) queue.push({ atMs: atMs + again.afterMs, attempt: attempt + 1 })
  }
  return served
}

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
      const again = retry(unserved)
      const { waitedMs, remainingMs, losses } = unserved
      if (remainingMs <= 0 || waitedMs >= 15_000 || losses >= MOST_LOSSES) expect(again).toBeNull()
      if (again) expect(again.afterMs).toBeLessThan(remainingMs)
    }),
  )
})
