import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CountedBus } from '../bus.ts'
import type { IncomingJob, JobAborted, JobOver } from '../port.ts'
import { adapters, type World } from './adapters.ts'
import { dispatchJob, serveJobs, sleep, text, until } from './recorded-responses.ts'

/** A peer is lost after three seconds of silence; after thirty, only our own outage would end a stream. */
const LOST_LONG_BEFORE_MS = 25_000

describe.each(adapters)('lost processes on $name', ({ createWorld }) => {
  let world: World
  let edge: CountedBus
  let router: CountedBus
  beforeEach(async () => {
    world = await createWorld()
    edge = await world.open()
    router = await world.open()
  })
  afterEach(() => world[Symbol.asyncDispose]())

  const serve = (work: Parameters<typeof serveJobs>[2]) => serveJobs(router, 'job.a', work)
  const causeOf = (job: IncomingJob | undefined) => (job?.signal.reason as JobAborted | undefined)?.abortCause

  const overOf = (job: IncomingJob) => new Promise<JobOver>((resolve) => job.onOver(resolve))

  it('informs the worker within four seconds that its caller is gone', async () => {
    let job: IncomingJob | undefined
    await serve((incoming) => {
      job = incoming
      job.accept()
      void job.data(text('hello'))
    })
    const response = dispatchJob(edge, { subject: 'job.a' })
    await until(() => response.bytes === 5)
    world.kill(edge)
    const killedAtMs = performance.now()
    await until(() => job!.signal.aborted)
    expect(causeOf(job)).toBe('caller_lost')
    expect(performance.now() - killedAtMs).toBeLessThan(LOST_LONG_BEFORE_MS)
    expect(performance.now() - killedAtMs).toBeGreaterThan(1_500)
    await expect(job!.data(text('more'))).rejects.toThrow('caller_lost')
  })

  it('informs a worker that has ended, too, when its caller goes without having taken the end', async () => {
    let job: IncomingJob | undefined
    await serve((incoming) => void (job = incoming).accept())
    const response = dispatchJob(edge, { subject: 'job.a' })
    await until(() => response.log.length === 1)
    const over = overOf(job!)
    world.kill(edge)
    job!.end(text('nobody reads this'))
    expect(await over).toBe('caller_lost')
  })

  it.each([
    ['closes', () => edge[Symbol.asyncDispose]()],
    ['goes', async () => world.kill(edge)],
  ])('informs a worker that has ended when its caller %s before it has taken the end in', async (_, leave) => {
    let over: Promise<JobOver> | undefined
    await serve((job) => {
      job.accept()
      over = overOf(job)
      job.end(text('read, and not yet written down'))
    })
    const response = dispatchJob(edge, { subject: 'job.a' }, { takeIn: () => new Promise(() => {}) })
    expect(await response.over).toMatch('end')
    await leave()
    expect(await over).toBe('caller_lost')
  })

  it('informs a worker whose caller has left and is then lost that nobody has its last frame', async () => {
    let over: Promise<JobOver> | undefined
    let job: IncomingJob | undefined
    await serve((incoming) => {
      job = incoming
      job.accept()
      over = overOf(job)
    })
    const response = dispatchJob(edge, { subject: 'job.a' })
    await until(() => response.log.length === 1)
    response.handle.leave()
    await until(() => job!.signal.aborted)
    world.kill(edge)
    job!.failure(text('5 tokens'))
    expect(await over).toBe('caller_lost')
  })

  it('informs the caller within four seconds that its worker is gone', async () => {
    await serve((job) => {
      job.accept()
      void job.data(text('hello'))
    })
    const response = dispatchJob(edge, { subject: 'job.a' })
    await until(() => response.bytes === 5)
    world.kill(router)
    const killedAtMs = performance.now()
    expect(await response.over).toBe('lost')
    expect(performance.now() - killedAtMs).toBeLessThan(LOST_LONG_BEFORE_MS)
  })

  it('keeps a silent stream alive while both ends live', async () => {
    await serve(async (job) => {
      job.accept()
      await sleep(4_500)
      job.end(text('thought about it'))
    })
    expect(await dispatchJob(edge, { subject: 'job.a' }).over).toBe('end thought about it')
  })

  it('informs the caller at once when its worker closes', async () => {
    await serve((job) => job.accept())
    // Silence alone would never reach this caller's limit.
    await using unhurried = await world.open({ tuning: { lostAfterMs: 600_000 } })
    const response = dispatchJob(unhurried, { subject: 'job.a' })
    await until(() => response.log.includes('accept'))
    await router[Symbol.asyncDispose]()
    expect(await response.over).toBe('lost')
  })

  it('stops the work at once when the caller closes', async () => {
    let job: IncomingJob | undefined
    await serve((incoming) => void (job = incoming).accept())
    const response = dispatchJob(edge, { subject: 'job.a' })
    await until(() => response.log.includes('accept'))
    await edge[Symbol.asyncDispose]()
    await until(() => job!.signal.aborted)
    expect(causeOf(job)).toBe('stopped')
  })
})
