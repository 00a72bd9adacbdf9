import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AcceptPatience } from './accept-patience.ts'

const LEAST = 250
const MOST = 2_000
const times = fc.array(fc.double({ min: 0, max: 10_000, noNaN: true }), { maxLength: 200 })

function after(tookMs: readonly number[]): AcceptPatience {
  const patience = new AcceptPatience(LEAST, MOST)
  for (const took of tookMs) patience.accepted(took)
  return patience
}

describe('the wait for an accept', () => {
  it('is short where jobs are accepted quickly, and while nothing is known', () => {
    expect(after([]).waitMs()).toBe(LEAST)
    expect(after([1, 3, 2, 8, 5, 1]).waitMs()).toBe(LEAST)
  })

  it('stays within its bounds, whatever is seen', () => {
    fc.assert(
      fc.property(times, (tookMs) => {
        expect(after(tookMs).waitMs()).toBeGreaterThanOrEqual(LEAST)
        expect(after(tookMs).waitMs()).toBeLessThanOrEqual(MOST)
      }),
    )
  })

  it('covers what workers take that are busy for a while, and is short again soon after', () => {
    fc.assert(
      fc.property(times, fc.double({ min: 0, max: MOST, noNaN: true }), (before, busyMs) => {
        const busy = [...before, ...Array.from({ length: 50 }, () => busyMs)]
        expect(after(busy).waitMs()).toBeGreaterThanOrEqual(busyMs * 0.99)
        expect(after([...busy, ...Array.from({ length: 50 }, () => 2)]).waitMs()).toBe(LEAST)
      }),
    )
  })

  it('grows with a queue that gets longer, before the next in it are given up', () => {
    // A worker that takes a job every 5 ms, and 300 of them at once: each accept comes a little later.
    const patience = new AcceptPatience(LEAST, MOST)
    for (let tookMs = 5; tookMs <= 1_500; tookMs += 5) {
      expect(patience.waitMs()).toBeGreaterThan(tookMs)
      patience.accepted(tookMs)
    }
  })

  it('learns nothing from a worker that was frozen', () => {
    expect(after(Array.from({ length: 100 }, () => MOST + 1)).waitMs()).toBe(LEAST)
  })
})

describe('an offer that was given up', () => {
  it('tells of a busy worker when it is accepted after all, once', () => {
    const patience = new AcceptPatience(LEAST, MOST)
    for (let stream = 0; stream < 30; stream++) {
      patience.gaveUp(stream, 0)
      patience.acceptedLate(stream, 600)
    }
    const waitMs = patience.waitMs()
    expect(waitMs).toBeGreaterThan(600)
    patience.acceptedLate(0, 1)
    expect(patience.waitMs()).toBe(waitMs)
  })

  it('is waited for as long as its caller asked, however quick others are', () => {
    expect(after([1, 2, 1]).waitMs(5_000)).toBe(5_000)
  })
})
