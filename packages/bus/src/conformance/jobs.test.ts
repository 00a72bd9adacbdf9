import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CountedBus } from '../bus.ts'
import { JobAborted, type IncomingJob, type JobEvents, type JobOver } from '../port.ts'
import { adapters, type World } from './adapters.ts'
import { dispatchJob, patterned, read, serveJobs, sleep, text, until, allBytes } from './recorded-responses.ts'

const MiB = 1024 * 1024

describe.each(adapters)('jobs on $name', ({ createWorld }) => {
  let world: World
  let edge: CountedBus
  let router: CountedBus
  beforeAll(async () => {
    world = await createWorld()
    edge = await world.open()
    router = await world.open()
  })
  afterAll(() => world[Symbol.asyncDispose]())

  const serve = (subject: string, work: Parameters<typeof serveJobs>[2]) => serveJobs(router, subject, work)

  it('carries a job there and its response back, in order', async () => {
    await using _ = await serve('job.a', async (job) => {
      job.accept()
      const body = await job.body()
      job.head(text(`${read(job.header)} of ${job.callerId === edge.processId ? 'the edge' : 'whom?'}`))
      await job.data(body)
      await job.data(text('!'))
      job.end(text('3 tokens'))
    })
    const response = dispatchJob(edge, { subject: 'job.a', header: text('header'), body: text('hello') })
    expect(await response.over).toBe('end 3 tokens')
    expect(response.log).toEqual(['accept', 'head header of the edge', 'end 3 tokens'])
    expect(read(allBytes(response))).toBe('hello!')
    expect(response.workerId).toBe(router.processId)
  })

  it('brings a failure after the data before it', async () => {
    await using _ = await serve('job.fails', (job) => {
      job.accept()
      void job.data(text('partial'))
      job.failure(text('backend died'))
    })
    const response = dispatchJob(edge, { subject: 'job.fails' })
    expect(await response.over).toBe('failure backend died')
    expect(read(allBytes(response))).toBe('partial')
  })

  it('carries heads and failures larger than a message', async () => {
    const large = 'x'.repeat(3 * MiB)
    await using _ = await serve('job.large', (job) => {
      job.accept()
      job.head(text(large))
      job.failure(text(`${large}!`))
    })
    const response = dispatchJob(edge, { subject: 'job.large' })
    await response.over
    expect(response.log).toEqual(['accept', `head ${large}`, `failure ${large}!`])
  })

  it('says at once that nobody takes a job, but not before dispatch has returned', async () => {
    const startedAtMs = performance.now()
    const response = dispatchJob(edge, { subject: 'job.none', acceptTimeoutMs: 60_000 })
    expect(response.log).toEqual([])
    expect(await response.over).toBe('unavailable no_responder')
    expect(performance.now() - startedAtMs).toBeLessThan(30_000)
  })

  it('gives up on a worker that does not accept in time, and stops it when it does', async () => {
    const jobs: IncomingJob[] = []
    await using _ = await serve('job.slow', (job) => void jobs.push(job))
    const response = dispatchJob(edge, { subject: 'job.slow' })
    expect(await response.over).toBe('unavailable timeout')
    jobs[0]!.accept()
    await until(() => jobs[0]!.signal.aborted)
    expect((jobs[0]!.signal.reason as JobAborted).abortCause).toBe('stopped')
    expect(response.log).toEqual(['unavailable timeout'])
  })

  it('names a worker that is awake once the queue has picked a frozen one', async () => {
    const other = await world.open()
    let isFrozen = false
    const unaccepted: IncomingJob[] = []
    await using _a = await serve('job.freezes', (job) => {
      if (isFrozen) unaccepted.push(job)
      else job.end(text('frozen later'))
    })
    await using _b = await serveJobs(other, 'job.freezes', (job) => job.end(text('awake')))
    const received = new Set<string>()
    while (received.size < 2) received.add(await dispatchJob(edge, { subject: 'job.freezes' }).over)
    isFrozen = true

    const ends = await Promise.all(
      Array.from({ length: 60 }, async () => {
        const first = await dispatchJob(edge, { subject: 'job.freezes' }).over
        return first === 'unavailable timeout' ? dispatchJob(edge, { subject: 'job.freezes', timeouts: 1 }).over : first
      }),
    )
    expect(new Set(ends)).toEqual(new Set(['end awake']))
    expect(unaccepted.length).toBeGreaterThan(0)
    for (const job of unaccepted) job.reject('thawed')
  })

  it('rejects a job that names a worker which takes no more, and leaves the next to the queue', async () => {
    const leaving = await serve('job.leaves', (job) => job.end(text('left')))
    expect(await dispatchJob(edge, { subject: 'job.leaves' }).over).toBe('end left')
    await leaving[Symbol.asyncDispose]()
    const named = await dispatchJob(edge, { subject: 'job.leaves', timeouts: 1 }).over
    expect(named).toBe('unavailable rejected takes no jobs of job.leaves')
    expect(await dispatchJob(edge, { subject: 'job.leaves', timeouts: 1 }).over).toBe('unavailable no_responder')
  })

  it('brings a large body to a worker that it names', async () => {
    const body = patterned(3 * MiB, 3)
    await using _ = await serve('job.named', async (job) => {
      job.accept()
      job.end(text(body.equals(await job.body()) ? 'same' : 'different'))
    })
    await dispatchJob(edge, { subject: 'job.named', body }).over
    expect(await dispatchJob(edge, { subject: 'job.named', body, timeouts: 1 }).over).toBe('end same')
  })

  it('says why a worker gave a job back', async () => {
    await using _ = await serve('job.rejected', (job) => job.reject('no_pool'))
    expect(await dispatchJob(edge, { subject: 'job.rejected' }).over).toBe('unavailable rejected no_pool')
  })

  it('gives a job back when its handler throws before accepting, and loses it when it throws after', async () => {
    await using _a = await serve('job.throws', () => {
      throw new Error('no')
    })
    await using _b = await serve('job.throws-late', (job) => {
      job.accept()
      throw new Error('no')
    })
    expect(await dispatchJob(edge, { subject: 'job.throws' }).over).toBe('unavailable rejected the worker failed')
    expect(await dispatchJob(edge, { subject: 'job.throws-late' }).over).toBe('lost')
  })

  it.each(['onHead', 'onData', 'onEnd', 'onFailure'] as const)(
    'loses the worker of a response whose %s threw, and stops it',
    async (handler) => {
      const over = Promise.withResolvers<JobOver>()
      await using _ = await serve('job.unreadable', (job) => {
        job.onOver(over.resolve)
        job.accept()
        job.head(text('head'))
        void job.data(text('data'))?.catch(() => {})
        if (handler === 'onFailure') job.failure(text('failure'))
        else job.end(text('end'))
      })
      const lasts: string[] = []
      const lost = Promise.withResolvers<void>()
      const events: JobEvents = {
        onHead() {},
        onData() {},
        onEnd: () => void lasts.push('end'),
        onFailure: () => void lasts.push('failure'),
        onUnavailable: () => void lasts.push('unavailable'),
        onLost() {
          lasts.push('lost')
          lost.resolve()
        },
        [handler]() {
          throw new Error('unreadable')
        },
      }
      edge.dispatch({ subject: 'job.unreadable', header: text('header'), body: text('body') }, events)
      await lost.promise
      expect(await over.promise).toBe('stopped')
      expect(lasts).toEqual(['lost'])
    },
  )

  it.each([
    ['0 bytes', 0],
    ['20 MB', 20_000_000],
  ])('brings a body of %s whole', async (_name, size) => {
    const body = patterned(size, 1)
    await using _ = await serve('job.upload', async (job) => {
      job.accept()
      job.end(text(body.equals(await job.body()) ? 'same' : 'different'))
    })
    expect(await dispatchJob(edge, { subject: 'job.upload', body }).over).toBe('end same')
  })

  it('brings a response of 10 MB whole and in order', async () => {
    const body = patterned(10_000_000, 2)
    await using _ = await serve('job.download', async (job) => {
      job.accept()
      for (let at = 0; at < body.length; at += 100_000) await job.data(body.subarray(at, at + 100_000))
      job.end(text('done'))
    })
    const response = dispatchJob(edge, { subject: 'job.download' })
    expect(await response.over).toBe('end done')
    expect(allBytes(response).equals(body)).toBe(true)
  })

  it('holds back a worker whose reader does not read, and nobody else', async () => {
    let produced = 0
    await using _a = await serve('job.flood', async (job) => {
      job.accept()
      const chunk = Buffer.alloc(16 * 1024)
      while (!job.signal.aborted && produced < 32 * MiB) {
        await job.data(chunk)?.catch(() => {})
        produced += chunk.length
      }
      job.end(text('all'))
    })
    await using _b = await serve('job.brisk', async (job) => {
      job.accept()
      for (let i = 0; i < 100; i++) await job.data(patterned(50_000, i))
      job.end(text('done'))
    })
    const slow = dispatchJob(edge, { subject: 'job.flood' }, { read: false })
    await until(() => slow.bytes > 0)
    const brisk = dispatchJob(edge, { subject: 'job.brisk' })
    expect(await brisk.over).toBe('end done')
    expect(brisk.bytes).toBe(5_000_000)
    await sleep(300)
    const stoodAt = produced
    expect(stoodAt).toBeLessThanOrEqual(1.1 * MiB)
    expect(slow.bytes).toBeLessThanOrEqual(1.1 * MiB)
    await sleep(1_300)
    expect(produced).toBe(stoodAt)

    slow.handle.consumed(slow.bytes)
    await until(() => produced > stoodAt)
    slow.handle.stop()
    await sleep(50)
    expect(slow.log).toEqual(['accept'])
  })

  it('stops the worker when the caller stops, and sends the caller no more', async () => {
    const { promise: aborted, resolve } = Promise.withResolvers<JobAborted>()
    await using _ = await serve('job.stop', async (job) => {
      job.accept()
      job.signal.addEventListener('abort', () => resolve(job.signal.reason as JobAborted))
      while (!job.signal.aborted) {
        await job.data(text('tick'))?.catch(() => {})
        await sleep(1)
      }
      await expect(job.data(text('late'))).rejects.toBeInstanceOf(JobAborted)
      job.end(text('late'))
    })
    const response = dispatchJob(
      edge,
      { subject: 'job.stop' },
      { onData: (own) => own.bytes >= 40 && own.handle.stop() },
    )
    expect((await aborted).abortCause).toBe('stopped')
    await sleep(50)
    expect(response.bytes).toBe(40)
    expect(response.log).toEqual(['accept'])
  })

  it('brings the last word of a job whose reader has left, however full its window', async () => {
    let job: IncomingJob | undefined
    await using _ = await serve('job.left', async (incoming) => {
      job = incoming
      job.accept()
      job.head(text('begun'))
      const chunk = Buffer.alloc(16 * 1024)
      let produced = 0
      while (!job.signal.aborted) {
        await job.data(chunk)?.catch(() => {})
        produced += chunk.length
      }
      await expect(job.data(chunk)).rejects.toBeInstanceOf(JobAborted)
      job.failure(text(`${produced > 0} ${(job.signal.reason as JobAborted).abortCause}`))
    })
    const response = dispatchJob(edge, { subject: 'job.left' }, { read: false })
    await until(() => response.bytes > 0)
    await sleep(100)
    response.handle.leave()
    expect(await response.over).toBe('failure true stopped')
  })

  it('brings the end that was on its way when the reader left', async () => {
    const over = Promise.withResolvers<JobOver>()
    let isAborted = false
    await using _ = await serve('job.left-late', (job) => {
      job.accept()
      job.onOver(over.resolve)
      job.signal.addEventListener('abort', () => (isAborted = true))
      void job.data(Buffer.alloc(MiB))?.catch(() => {})
      job.end(text('all of it'))
    })
    const response = dispatchJob(edge, { subject: 'job.left-late' }, { read: false })
    await until(() => response.bytes > 0)
    await sleep(100)
    expect(response.log).toEqual(['accept'])
    response.handle.leave()
    expect(await response.over).toBe('end all of it')
    expect(response.bytes).toBe(MiB)
    expect(await over.promise).toBe('acknowledged')
    expect(isAborted).toBe(false)
  })

  it('says of a job that its reader left before anybody had it that nobody took it', async () => {
    const response = dispatchJob(edge, { subject: 'job.never' })
    response.handle.leave()
    expect(await response.over).toBe('unavailable no_responder')
  })

  it('keeps the end until the caller has taken it in', async () => {
    const taken = Promise.withResolvers<void>()
    let over: JobOver | undefined
    await using _ = await serve('job.kept', (job) => {
      job.accept()
      job.onOver((how) => (over = how))
      job.end(text('3 tokens'))
    })
    const response = dispatchJob(edge, { subject: 'job.kept' }, { takeIn: () => taken.promise })
    await response.over
    // Longer than a heartbeat, which acknowledges the consumed frames.
    await sleep(1_300)
    expect(over).toBeUndefined()
    taken.resolve()
    await until(() => over === 'acknowledged')
  })

  it('ends the wait for a body whose caller has stopped', async () => {
    const { promise: outcome, resolve } = Promise.withResolvers<unknown>()
    await using _ = await serve('job.unread', (job) => {
      job.accept()
      job.signal.addEventListener('abort', () => void job.body().catch(resolve))
    })
    const response = dispatchJob(edge, { subject: 'job.unread', body: patterned(MiB, 1) })
    await until(() => response.log.includes('accept'))
    response.handle.stop()
    expect(await outcome).toBeInstanceOf(JobAborted)
  })

  it('keeps 300 concurrent streams apart', async () => {
    await using _ = await serve('job.many', async (job) => {
      job.accept()
      const seed = Number(read(job.header))
      job.head(job.header)
      for (let i = 0; i < 20; i++) {
        await job.data(patterned(500 + seed, seed * 100 + i))
        if (i % 5 === 0) await sleep(1)
      }
      job.end(job.header)
    })
    const responses = Array.from({ length: 300 }, (_, i) =>
      dispatchJob(edge, { subject: 'job.many', header: text(`${i}`), acceptTimeoutMs: 20_000 }),
    )
    const ends = await Promise.all(responses.map((response) => response.over))
    expect(ends).toEqual(responses.map((_, i) => `end ${i}`))
    for (const [seed, response] of responses.entries()) {
      expect(response.log).toEqual(['accept', `head ${seed}`, `end ${seed}`])
      const expected = Buffer.concat(Array.from({ length: 20 }, (_, i) => patterned(500 + seed, seed * 100 + i)))
      expect(allBytes(response).equals(expected)).toBe(true)
    }
  })

  it('takes nothing new once disposed, while running jobs go on', async () => {
    const { promise: finish, resolve } = Promise.withResolvers<void>()
    const service = await serve('job.drain', async (job) => {
      job.accept()
      await finish
      job.end(text('finished'))
    })
    const running = dispatchJob(edge, { subject: 'job.drain' })
    await until(() => running.log.includes('accept'))
    await service[Symbol.asyncDispose]()
    expect(await dispatchJob(edge, { subject: 'job.drain' }).over).toBe('unavailable no_responder')
    resolve()
    expect(await running.over).toBe('end finished')
  })

  it('forgets streams that are over', async () => {
    await until(() => edge.counters.streamsOpen === 0 && router.counters.streamsOpen === 0)
    expect([edge, router].map(({ counters }) => counters.messagesMalformed)).toEqual([0, 0])
  })
})
