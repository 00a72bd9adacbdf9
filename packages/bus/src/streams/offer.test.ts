import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RecentWorkers } from './offer.ts'

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

  it('reaches every worker that is awake, however many are frozen, after any history', () => {
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

  it('spares jobs the waits that a blind queue costs while one worker of two is frozen', () => {
    const { waits: blind, failed: failedBlind } = dispatchAll({ byName: false })
    expect(blind.filter((waitedMs) => waitedMs >= 2_000).length / JOBS).toBeGreaterThan(0.05)
    expect(failedBlind / JOBS).toBeGreaterThan(0.0005)
    const { waits, failed } = dispatchAll({ byName: true })
    expect(Math.max(...waits)).toBe(250)
    expect(failed).toBe(0)
  })

  it('is kept for a bounded number of workers', () => {
    const workers = new RecentWorkers()
    for (let worker = 0; worker < 1_000; worker++) workers.accepted('job.a', `worker ${worker}`, worker)
    expect(workers.choose('job.a', 64, 5_000)).toBe('worker 936')
    expect(workers.choose('job.a', 65, 5_000)).toBeUndefined()
  })
})

const JOBS = 20_000

/** Jobs come one after the other. The edge waits so long for an accept of each dispatch, and for 15 s in all. */
function dispatchAll({ byName }: { byName: boolean }): { waits: number[]; failed: number } {
  const timeoutsMs = [250, 250, 500, 1_000, ...Array.from({ length: 7 }, () => 2_000)]
  const random = seeded(1)
  const workers = new RecentWorkers()
  workers.accepted('job.a', 'awake', -1_000)
  const waits: number[] = []
  let failed = 0
  for (let job = 0; job < JOBS; job++) {
    let [timeouts, waitedMs] = [0, 0]
    while (timeouts < timeoutsMs.length) {
      const named = byName ? workers.choose('job.a', timeouts, job * 1_000 - 2_000) : undefined
      if ((named ?? (random() < 0.5 ? 'frozen' : 'awake')) === 'awake') break
      waitedMs += timeoutsMs[timeouts++]!
    }
    if (timeouts === timeoutsMs.length) failed++
    else waits.push(waitedMs)
    if (timeouts < timeoutsMs.length) workers.accepted('job.a', 'awake', job * 1_000)
  }
  return { waits, failed }
}

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
