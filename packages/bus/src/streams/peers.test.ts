import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { dispatchJob, serveJobs } from '../conformance/recorded-responses.ts'
import { createMemoryHub, openMemoryBus } from '../memory.ts'
import { defaultTuning } from '../tuning.ts'

const { heartbeatMs, lostAfterMs, tickMs } = defaultTuning

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Lets time pass, and counts how often it wakes the process. */
async function wakesWithin(ms: number): Promise<number> {
  const untilMs = performance.now() + ms
  for (let wakes = 0; ; wakes++) {
    await vi.advanceTimersToNextTimerAsync()
    if (performance.now() >= untilMs) return wakes
  }
}

describe('a process that shares no stream', () => {
  it('wakes for its own heartbeat alone, also after it has had one', async () => {
    const hub = createMemoryHub()
    await using edge = await openMemoryBus({ hub })
    await vi.advanceTimersByTimeAsync(2 * heartbeatMs)
    expect(await wakesWithin(10 * heartbeatMs)).toBeLessThanOrEqual(10)

    await serveJobs(edge, 'job.a', (job) => {
      job.accept()
      job.end(new Uint8Array(0))
    })
    const response = dispatchJob(edge, { subject: 'job.a' })
    await vi.advanceTimersByTimeAsync(2 * heartbeatMs)
    expect(response.log).toEqual(['accept', 'end '])
    expect(await wakesWithin(10 * heartbeatMs)).toBeLessThanOrEqual(10)
  })
})

describe('a worker that dies', () => {
  it('is noticed in the same time, however long its caller has rested before the job and waited for it since', async () => {
    const phases = fc.record({ restMs: fc.nat({ max: 5_000 }), waitMs: fc.integer({ min: 10, max: 5_000 }) })
    await fc.assert(
      fc.asyncProperty(phases, async ({ restMs, waitMs }) => {
        const hub = createMemoryHub()
        await using edge = await openMemoryBus({ hub })
        await using router = await openMemoryBus({ hub })
        await serveJobs(router, 'job.a', (job) => job.accept())
        await vi.advanceTimersByTimeAsync(restMs)
        const response = dispatchJob(edge, { subject: 'job.a' })
        await vi.advanceTimersByTimeAsync(waitMs)
        expect(response.log).toEqual(['accept'])
        hub.cut(router.processId)
        await vi.advanceTimersByTimeAsync(lostAfterMs + tickMs)
        expect(response.log).toEqual(['accept', 'lost'])
      }),
    )
  })
})
