import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CountedBus } from '../bus.ts'
import type { IncomingJob } from '../port.ts'
import { defaultTuning } from '../tuning.ts'
import { adapters, type World } from './adapters.ts'
import { dispatchJob, patterned, read, serveJobs, text, until, allBytes } from './recorded-responses.ts'

const A_MINUTE_MS = 60_000

describe.each(adapters)('the chunks of streams to one process, on $name', ({ createWorld }) => {
  let world: World
  let edge: CountedBus
  let router: CountedBus
  let streams: IncomingJob[]
  beforeEach(async () => {
    world = await createWorld()
    edge = await world.open()
    router = await world.open({ tuning: { chunkGapMs: A_MINUTE_MS } })
    streams = []
  })
  afterEach(() => world[Symbol.asyncDispose]())

  /** Each stream's first content has come. */
  async function openStreams(count: number) {
    const served = await serveJobs(router, 'job.streams', (job) => {
      job.accept()
      job.head(text('head'))
      void job.data(text('first '))
      streams.push(job)
    })
    const responses = Array.from({ length: count }, () => dispatchJob(edge, { subject: 'job.streams' }))
    await until(() => responses.every(({ bytes }) => bytes > 0))
    return { responses, [Symbol.asyncDispose]: () => served[Symbol.asyncDispose]() }
  }

  it('travel together, and the first content and the end of a stream wait for none', async () => {
    await using opened = await openStreams(20)
    const { responses } = opened
    const { messagesSent } = router.counters
    for (const stream of streams) {
      void stream.data(text('second '))
      await setImmediate()
    }
    expect(responses.map(({ bytes }) => bytes)).toEqual(responses.map(() => 'first '.length))
    streams[0]!.end(text('end'))
    await until(() => responses.every(({ chunks }) => chunks.length === 2))
    expect(responses.map((response) => read(allBytes(response)))).toEqual(responses.map(() => 'first second '))
    expect(await responses[0]!.over).toBe('end end')
    // Acknowledgements and heartbeats may travel beside them.
    expect(router.counters.messagesSent - messagesSent).toBeLessThan(10)
    for (const stream of streams) stream.end(text('end'))
    await Promise.all(responses.map(({ over }) => over))
  })

  it('leave at once when they fill a message', async () => {
    await using opened = await openStreams(2)
    const half = patterned(defaultTuning.messageBytes / 2, 1)
    for (const stream of streams) void stream.data(half)
    await until(() => opened.responses.every(({ bytes }) => bytes === 'first '.length + half.length))
    for (const stream of streams) stream.end(text('end'))
    await Promise.all(opened.responses.map(({ over }) => over))
  })
})
