import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBus, type CountedBus } from '../bus.ts'
import { memoryDurable } from '../memory/durable.ts'
import { createMemoryHub, type MemoryHub } from '../memory/hub.ts'
import type { Tuning } from '../tuning.ts'
import { dispatchJob, patterned, read, serveJobs, sleep, text, until, allBytes } from './recorded-responses.ts'
import { faultyWire, type Faults } from './faulty-wire.ts'

/** Everything small and quick, so that every window fills and every timer fires within a short response. */
const quick: Partial<Tuning> = {
  acceptTimeoutMs: 20_000,
  heartbeatMs: 20,
  lostAfterMs: 20_000,
  tickMs: 5,
  inlineBytes: 100,
  frameBytes: 100,
  messageBytes: 400,
  streamWindowBytes: 2_000,
  ackEveryBytes: 500,
  peerWindowBytes: 4_000,
  markEveryBytes: 500,
  bodyPartsInFlight: 4,
  bodiesAtOnce: 2,
  bodyRetryMs: 15,
  resumeRetryMs: 15,
}

const faults = fc.record({
  seed: fc.nat(),
  loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
  repetition: fc.double({ min: 0, max: 0.3, noNaN: true }),
  reordering: fc.double({ min: 0, max: 0.4, noNaN: true }),
})
const job = fc.record({ body: fc.nat({ max: 2_000 }), chunks: fc.array(fc.nat({ max: 700 }), { maxLength: 15 }) })

describe('a wire that loses, repeats and reorders frames', () => {
  it('still brings every body and every response whole, in order and once', async () => {
    await fc.assert(
      fc.asyncProperty(faults, fc.array(job, { minLength: 1, maxLength: 6 }), async (faults, jobs) => {
        const hub = createMemoryHub()
        await using edge = await openFaulty(hub, faults)
        await using router = await openFaulty(hub, { ...faults, seed: faults.seed + 1 })
        await serveJobs(router, 'job.a', async (incoming) => {
          incoming.accept()
          const number = Number(read(incoming.header))
          const body = await incoming.body()
          incoming.head(text('h'.repeat(250)))
          for (const [i, size] of jobs[number]!.chunks.entries()) {
            await incoming.data(patterned(size, number * 100 + i))
          }
          incoming.end(text(`${patterned(jobs[number]!.body, number).equals(body)}`))
        })

        const responses = jobs.map(({ body }, i) => {
          return dispatchJob(edge, { subject: 'job.a', header: text(`${i}`), body: patterned(body, i) })
        })
        await until(() => responses.every(({ log }) => /^(end|lost)/.test(log.at(-1) ?? '')))
        for (const [number, response] of responses.entries()) {
          const expected = jobs[number]!.chunks.map((size, i) => patterned(size, number * 100 + i))
          expect(response.log).toEqual(['accept', `head ${'h'.repeat(250)}`, 'end true'])
          expect(allBytes(response).equals(Buffer.concat(expected))).toBe(true)
        }
        await until(() => router.counters.streamsOpen === 0)
        expect(edge.counters.streamsOpen).toBe(0)
      }),
      { numRuns: 60, interruptAfterTimeLimit: 25_000, markInterruptAsFailure: false },
    )
  })

  it('still stops a job that the caller stopped', async () => {
    await fc.assert(
      fc.asyncProperty(faults, async (faults) => {
        const hub = createMemoryHub()
        await using edge = await openFaulty(hub, faults)
        await using router = await openFaulty(hub, { ...faults, seed: faults.seed + 1 })
        let aborted = false
        await serveJobs(router, 'job.a', async (incoming) => {
          incoming.signal.addEventListener('abort', () => (aborted = true))
          incoming.accept()
          while (!incoming.signal.aborted) {
            await incoming.data(text('tick'))?.catch(() => {})
            await sleep(1)
          }
        })
        const response = dispatchJob(edge, { subject: 'job.a' })
        await until(() => response.bytes > 0)
        response.handle.stop()
        const received = response.bytes
        await until(() => aborted)
        expect(response.bytes).toBe(received)
        await until(() => router.counters.streamsOpen === 0)
      }),
      { numRuns: 20, interruptAfterTimeLimit: 10_000, markInterruptAsFailure: false },
    )
  })

  it('still brings the last frame of a job that its reader left', async () => {
    const chunks = fc.array(fc.nat({ max: 700 }), { maxLength: 15 })
    await fc.assert(
      fc.asyncProperty(faults, chunks, fc.nat({ max: 30 }), async (faults, chunks, leavesAfterMs) => {
        const hub = createMemoryHub()
        await using edge = await openFaulty(hub, faults)
        await using router = await openFaulty(hub, { ...faults, seed: faults.seed + 1 })
        await serveJobs(router, 'job.a', async (incoming) => {
          incoming.accept()
          incoming.head(text('head'))
          try {
            for (const size of chunks) await incoming.data(patterned(size, size))
            incoming.end(text('all'))
          } catch {
            incoming.failure(text('what there was'))
          }
        })
        const response = dispatchJob(edge, { subject: 'job.a' }, { read: false })
        await sleep(leavesAfterMs)
        response.handle.leave()
        expect(await response.over).toMatch(/^(end all|failure what there was)$/)
        await until(() => router.counters.streamsOpen === 0)
        expect(edge.counters.streamsOpen).toBe(0)
      }),
      { numRuns: 40, interruptAfterTimeLimit: 15_000, markInterruptAsFailure: false },
    )
  })
})

function openFaulty(hub: MemoryHub, faults: Faults): Promise<CountedBus> {
  const processId = `p${faults.seed}`
  return createBus({
    processId,
    wire: faultyWire(
      hub.connect(processId, () => {}),
      faults,
    ),
    tuning: quick,
    onStatus: () => {},
    openKept: () => hub.kept,
    openDurable: ({ counters, measures }) => memoryDurable(hub.durable, counters, measures),
  })
}
