import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAcceptPatience, leftToWaitMs, noteAccepted, patienceMs, type AcceptPatience } from './accept-patience.ts'

const LEAST = 250
const MOST = 2_000
const times = fc.array(fc.double({ min: 0, max: 10_000, noNaN: true }), { maxLength: 200 })

function after(tookMs: readonly number[]): AcceptPatience {
  const patience = createAcceptPatience(LEAST, MOST)
  for (const took of tookMs) noteAccepted(patience, took)
  return patience
}

describe('the wait for an accept', () => {
  it('is short where jobs are accepted quickly, and while nothing is known', () => {
    expect(patienceMs(after([]))).toBe(LEAST)
    expect(patienceMs(after([1, 3, 2, 8, 5, 1]))).toBe(LEAST)
  })

  it('stays within its bounds, whatever is seen', () => {
    fc.assert(
      fc.property(times, (tookMs) => {
        expect(patienceMs(after(tookMs))).toBeGreaterThanOrEqual(LEAST)
        expect(patienceMs(after(tookMs))).toBeLessThanOrEqual(MOST)
      }),
    )
  })

  it('covers what workers take that are busy for a while, and is short again soon after', () => {
    fc.assert(
      fc.property(times, fc.double({ min: 0, max: MOST, noNaN: true }), (before, busyMs) => {
        const busy = [...before, ...Array.from({ length: 50 }, () => busyMs)]
        expect(patienceMs(after(busy))).toBeGreaterThanOrEqual(busyMs * 0.99)
        expect(patienceMs(after([...busy, ...Array.from({ length: 50 }, () => 2)]))).toBe(LEAST)
      }),
    )
  })

  it('grows with a queue that gets longer, before the next in it are given up', () => {
    // A worker that takes a job every 5 ms, and 300 of them at once: each accept comes a little later.
    const patience = createAcceptPatience(LEAST, MOST)
    for (let tookMs = 5; tookMs <= 1_500; tookMs += 5) {
      expect(patienceMs(patience)).toBeGreaterThan(tookMs)
      noteAccepted(patience, tookMs)
    }
  })

  it('learns nothing from a worker that was frozen', () => {
    expect(patienceMs(after(Array.from({ length: 100 }, () => MOST + 1)))).toBe(LEAST)
  })
})

describe('a wait whose time is over', () => {
  const waits = fc
    .record({
      atLeastMs: fc.double({ min: 0, max: 5_000, noNaN: true }),
      plannedMs: fc.double({ min: 0, max: 20_000, noNaN: true }),
      lateMs: fc.double({ min: 0, max: 20_000, noNaN: true }),
    })
    .map(({ atLeastMs, plannedMs, lateMs }) => ({ atLeastMs, lateMs, waitedMs: plannedMs + lateMs }))

  it('is over for a frozen worker after the time that was planned', () => {
    expect(leftToWaitMs(after([2, 2, 2]), { atLeastMs: LEAST, waitedMs: 251, lateMs: 1 })).toBe(0)
  })

  it('goes on while workers turn out to be busy', () => {
    const busy = after(Array.from({ length: 30 }, (_, index) => 10 * index))
    expect(leftToWaitMs(busy, { atLeastMs: LEAST, waitedMs: 250, lateMs: 0 })).toBeGreaterThan(100)
  })

  it('goes on for a moment where this process itself stood still', () => {
    expect(leftToWaitMs(after([]), { atLeastMs: LEAST, waitedMs: 430, lateMs: 180 })).toBe(180)
    expect(leftToWaitMs(after([]), { atLeastMs: LEAST, waitedMs: 10_250, lateMs: 10_000 })).toBe(LEAST)
  })

  it('is never shorter than the caller asked, and always ends', () => {
    fc.assert(
      fc.property(times, waits, (tookMs, wait) => {
        const left = leftToWaitMs(after(tookMs), wait)
        if (left === 0) expect(wait.waitedMs).toBeGreaterThanOrEqual(wait.atLeastMs)
        // Time in which this process could do something.
        else expect(wait.waitedMs - wait.lateMs + left).toBeLessThanOrEqual(Math.max(wait.atLeastMs, MOST) + 1e-6)
      }),
    )
  })
})
