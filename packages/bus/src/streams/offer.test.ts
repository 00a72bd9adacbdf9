import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AcceptTimeout, RecentWorkers } from './offer.ts'

const LEAST = 250
const MOST = 2_000
const times = fc.array(fc.double({ min: 0, max: 10_000, noNaN: true }), { maxLength: 200 })

function after(tookMs: readonly number[]): AcceptTimeout {
  const timeoutPolicy = new AcceptTimeout(LEAST, MOST)
  for (const took of tookMs) timeoutPolicy.accepted(took)
  return timeoutPolicy
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
    const timeoutPolicy = new AcceptTimeout(LEAST, MOST)
    for (let tookMs = 5; tookMs <= 1_500; tookMs += 5) {
      expect(timeoutPolicy.waitMs()).toBeGreaterThan(tookMs)
      timeoutPolicy.accepted(tookMs)
    }
  })

  it('learns nothing from a worker that was frozen', () => {
    expect(after(Array.from({ length: 100 }, () => MOST + 1)).waitMs()).toBe(LEAST)
  })
})

describe('an offer that was given up', () => {
  it('tells of a busy worker when it is accepted after all, once', () => {
    const timeoutPolicy = new AcceptTimeout(LEAST, MOST)
    for (let stream = 0; stream < 30; stream++) {
      timeoutPolicy.gaveUp(stream, 0)
      timeoutPolicy.acceptedLate(stream, 600)
    }
    const waitMs = timeoutPolicy.waitMs()
    expect(waitMs).toBeGreaterThan(600)
    timeoutPolicy.acceptedLate(0, 1)
    expect(timeoutPolicy.waitMs()).toBe(waitMs)
  })

  it('is waited for as long as its caller asked, however quick others are', () => {
    expect(after([1, 2, 1]).waitMs(5_000)).toBe(5_000)
  })
})

describe('the worker that a job is offered to by name', () => {
  it('is none at first: the queue finds workers that this caller has never met', () => {
    const workers = new RecentWorkers()
    workers.accepted('job.a', 'one', 10)
    expect(workers.choose('job.a', 0, 0)).toBeUndefined()
    expect(workers.choose('job.b', 1, 0)).toBeUndefined()
  })

  it('is one that accepted since the last offer, and these take turns', () => {
    const workers = new RecentWorkers()
    workers.accepted('job.a', 'frozen', 90)
    workers.accepted('job.a', 'one', 110)
    workers.accepted('job.a', 'two', 120)
    const chosen = Array.from({ length: 6 }, () => workers.choose('job.a', 1, 100))
    expect(new Set(chosen)).toEqual(new Set(['one', 'two']))
    expect(chosen.filter((worker) => worker === 'one')).toHaveLength(3)
  })

  it('is each known one once where none accepted meanwhile, and then the queue again', () => {
    const workers = new RecentWorkers()
    for (const [at, worker] of ['one', 'two', 'three', 'one'].entries()) workers.accepted('job.a', worker, at)
    expect([1, 2, 3, 4].map((timeouts) => workers.choose('job.a', timeouts, 100))).toEqual([
      'one',
      'three',
      'two',
      undefined,
    ])
  })

  it('is never one that is gone', () => {
    const workers = new RecentWorkers()
    workers.accepted('job.a', 'one', 1)
    workers.forget('job.a', 'one')
    expect(workers.choose('job.a', 1, 0)).toBeUndefined()
  })

  it('reaches every worker that is awake, however many are frozen and whatever came before', () => {
    const accepts = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(accepts, fc.nat({ max: 9 }), (before, awake) => {
        const workers = new RecentWorkers()
        before.forEach((worker, at) => workers.accepted('job.a', `worker ${worker}`, at))
        workers.accepted('job.a', `worker ${awake}`, before.length)
        const sinceMs = 1_000
        const named = Array.from({ length: 10 }, (_, n) => workers.choose('job.a', n + 1, sinceMs))
        expect(named[0]).toBe(`worker ${awake}`)
        const known = new Set([...before, awake]).size
        expect(new Set(named.slice(0, known)).size).toBe(known)
        expect(named.slice(known)).toEqual(named.slice(known).fill(undefined))
      }),
    )
  })

  it('is kept for a bounded number of workers', () => {
    const workers = new RecentWorkers()
    for (let worker = 0; worker < 1_000; worker++) workers.accepted('job.a', `worker ${worker}`, worker)
    expect(workers.choose('job.a', 64, 5_000)).toBe('worker 936')
    expect(workers.choose('job.a', 65, 5_000)).toBeUndefined()
  })
})
