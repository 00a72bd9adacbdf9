import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CountedBus } from '../bus.ts'
import { createNatsWorld, type NatsWorld } from './adapters.ts'
import {
  dispatchJob,
  patterned,
  read,
  serveJobs,
  sleep,
  text,
  until,
  allBytes,
  type RecordedResponse,
} from './recorded-responses.ts'

describe('a broker that is killed with SIGKILL or stands still', () => {
  let world: NatsWorld
  let edge: CountedBus
  let router: CountedBus
  beforeEach(async () => {
    world = await createNatsWorld()
    edge = await world.open()
    router = await world.open()
  })
  afterEach(() => world[Symbol.asyncDispose]())

  const chunk = (stream: number, i: number) => patterned(1_000 + stream, stream * 1_000 + i)

  async function serveChunks(count: number, pauseMs: number) {
    await serveJobs(router, 'job.a', async (job) => {
      job.accept()
      const stream = Number(read(job.header))
      const body = await job.body()
      for (let i = 0; i < count && !job.signal.aborted; i++) {
        await job.data(chunk(stream, i))?.catch(() => {})
        await sleep(pauseMs)
      }
      job.end(text(`${body.length}`))
    })
  }
  const expectComplete = (response: RecordedResponse, stream: number, count: number) => {
    expect(response.log).toEqual(['accept', expect.stringMatching(/^end /)])
    expect(allBytes(response).equals(Buffer.concat(Array.from({ length: count }, (_, i) => chunk(stream, i))))).toBe(
      true,
    )
  }

  it('is a pause for 50 open streams: each completes, exact', async () => {
    await serveChunks(150, 20)
    const responses = Array.from({ length: 50 }, (_, i) =>
      dispatchJob(edge, { subject: 'job.a', header: text(`${i}`) }),
    )
    await until(() => responses.every((response) => response.bytes > 30_000))
    await world.server.kill()
    await sleep(700)
    await world.server.restart()
    await Promise.all(responses.map((response) => response.over))
    responses.forEach((response, i) => expectComplete(response, i, 150))
    expect(edge.counters.resumesRequested).toBeGreaterThan(0)
    expect(edge.counters.jobsLost).toBe(0)
    expect(edge.counters.reconnects).toBe(1)
  })

  it('is a pause for longer than three heartbeats, too', async () => {
    await serveChunks(100, 20)
    const response = dispatchJob(edge, { subject: 'job.a', header: text('7') })
    await until(() => response.bytes > 30_000)
    await world.server.kill()
    await sleep(5_000)
    await world.server.restart()
    expect(await response.over).toBe('end 4')
    expectComplete(response, 7, 100)
  })

  it('loses no stream by standing still for five seconds', async () => {
    await serveChunks(100, 20)
    const response = dispatchJob(edge, { subject: 'job.a', header: text('7') })
    await until(() => response.bytes > 30_000)
    await world.server.kill('SIGSTOP')
    await sleep(5_000)
    await world.server.kill('SIGCONT')
    expect(await response.over).toBe('end 4')
    expectComplete(response, 7, 100)
  })

  it('delays bodies on their way, and loses none', async () => {
    await serveChunks(1, 0)
    const bodies = Array.from({ length: 8 }, (_, i) => patterned(20_000_000, i))
    const responses = bodies.map((body, i) => dispatchJob(edge, { subject: 'job.a', header: text(`${i}`), body }))
    await until(() => responses.every((response) => response.log.includes('accept')))
    await world.server.kill()
    await sleep(200)
    await world.server.restart()
    expect(await Promise.all(responses.map((response) => response.over))).toEqual(responses.map(() => 'end 20000000'))
  })

  it('holds jobs and requests put meanwhile until it is back', async () => {
    await serveChunks(1, 0)
    await router.serve('echo', 'servers', async (payload) => payload)
    await world.server.kill()
    await sleep(50)
    const reply = edge.request('echo', text('still there?'), { timeoutMs: 60_000 })
    const response = dispatchJob(edge, { subject: 'job.a', header: text('1'), acceptTimeoutMs: 60_000 })
    await sleep(200)
    await world.server.restart()
    expect(await response.over).toBe('end 4')
    expect(read(await reply)).toBe('still there?')
  })

  it('makes a job that cannot be delivered for long unavailable', async () => {
    await world.server.kill()
    await sleep(50)
    const startedAtMs = performance.now()
    expect(await dispatchJob(edge, { subject: 'job.a' }).over).toBe('unavailable timeout')
    expect(performance.now() - startedAtMs).toBeLessThan(25_000)
  })

  it('stores each event that was published during the restart exactly once', async () => {
    const seen: string[] = []
    await router.durable.consume({
      stream: 'EVENTS',
      subject: 'events.>',
      consumer: 'ledger',
      maxBatch: 20,
      handler: async (batch) => void seen.push(...batch.map(({ payload }) => read(payload))),
    })
    const events = Array.from({ length: 300 }, (_, i) => `event ${i}`)
    const begun = new Set<string>()
    const published = Promise.all(
      events.map(async (event, i) => {
        await sleep(i * 5)
        begun.add(event)
        await edge.durable.publish('events.usage', text(event), { timeoutMs: 60_000 })
      }),
    )
    await sleep(500)
    await world.server.kill()
    const begunBefore = new Set(begun)
    await sleep(500)
    await world.server.restart()
    await published
    await until(() => new Set(seen).size === 300)
    await until(() => edge.durable.isHealthy())
    expect([...new Set(seen)].toSorted()).toEqual(events.toSorted())
    // The broker forgets acknowledgements that it had not written when it was killed, and delivers their events again.
    const twice = seen.filter((event, i) => seen.indexOf(event) < i)
    expect(twice.filter((event) => !begunBefore.has(event))).toEqual([])
  })

  it('says in time that an event is not stored, and stores it all the same', async () => {
    await world.server.kill()
    await expect(edge.durable.publish('events.usage', text('late'), { timeoutMs: 300 })).rejects.toThrow('not stored')
    await until(() => !edge.durable.isHealthy())
    await world.server.restart()
    const seen: string[] = []
    await router.durable.consume({
      stream: 'EVENTS',
      subject: 'events.>',
      consumer: 'ledger',
      maxBatch: 20,
      handler: async (batch) => void seen.push(...batch.map(({ payload }) => read(payload))),
    })
    await until(() => seen.includes('late'))
    await until(() => edge.durable.isHealthy())
  })
})
