import { setTimeout as sleep } from 'node:timers/promises'
import { createMemoryHub, openMemoryBus, type MemoryHub } from '@gateway/bus/memory'
import type { Bus, IncomingJob } from '@gateway/bus/port'
import type { ResponseEnd, ResponseFailure, JobHeader } from '@gateway/contracts/job'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { encode, HEAD, plannedJob, USAGE } from '../../test/planned-job.ts'
import { runJob, type JobRun, type RouterLoss } from './run-job.ts'

/** A router that is lost is known to be within a fraction of a second. */
const TUNING = { acceptTimeoutMs: 60, heartbeatMs: 20, lostAfterMs: 120, graceMs: 120, tickMs: 10 }
const END = encode({ usage: USAGE, attempts: [] })

let opened: AsyncDisposableStack
let hub: MemoryHub
let edge: Bus
beforeEach(async () => {
  opened = new AsyncDisposableStack()
  hub = createMemoryHub()
  edge = await openBus()
})
afterEach(() => opened.disposeAsync())

async function openBus(): Promise<Bus> {
  return opened.use(await openMemoryBus({ hub, tuning: TUNING }))
}

async function startRouter(
  handler: (job: IncomingJob, header: JobHeader) => void,
  subject = 'job.spark',
): Promise<Bus> {
  const bus = await openBus()
  opened.use(
    await bus.serveJobs(subject, 'routers', (job) =>
      handler(job, JSON.parse(Buffer.from(job.header).toString()) as JobHeader),
    ),
  )
  return bus
}

function respond(job: IncomingJob): void {
  job.accept()
  job.head(encode(HEAD))
  void job.data(Buffer.from('hello'))
  job.end(END)
}

interface ReportedEvents {
  text: string
  end: ResponseEnd | null
  failure: ResponseFailure | null
  isInterrupted: boolean
  /** The number of last words: never more than one. */
  ends: number
  losses: RouterLoss[]
  over: Promise<void>
  run: JobRun
}

function run(deadlineMs = 10_000, canRestart = () => true, fields: Partial<JobHeader> = {}): ReportedEvents {
  const over = Promise.withResolvers<void>()
  const last = () => {
    reported.ends++
    over.resolve()
  }
  const reported: ReportedEvents = {
    text: '',
    end: null,
    failure: null,
    isInterrupted: false,
    ends: 0,
    losses: [],
    over: over.promise,
    run: runJob(edge, plannedJob(fields), Buffer.from('{}'), deadlineMs, {
      onHead() {},
      onData: (bytes) => void (reported.text += Buffer.from(bytes).toString()),
      async onEnd(end) {
        reported.end = end
        last()
      },
      async onFailure(failure) {
        reported.failure = failure
        last()
      },
      onInterrupted() {
        reported.isInterrupted = true
        last()
      },
      onRouterLost(loss) {
        reported.losses.push(loss)
        if (canRestart()) reported.text = ''
        return canRestart()
      },
      onOverdue: () => reported.run.stop(),
    }),
  }
  return reported
}

test('a job that nobody is there to take waits for a router', async () => {
  const reported = run()
  await sleep(100)
  await startRouter(respond)
  await reported.over
  expect(reported).toMatchObject({ text: 'hello', end: { usage: USAGE }, ends: 1 })
})

test('a compaction goes to a router that knows it, and never to one of the last release', async () => {
  const servedByFormer: JobHeader[] = []
  await startRouter((job, header) => {
    servedByFormer.push(header)
    respond(job)
  })
  const alone = run(400, undefined, { compaction: 'endpoint', dialect: 'responses' })
  await alone.over
  expect(alone).toMatchObject({ text: '', failure: { code: 'SERVICE_UNAVAILABLE' }, ends: 1 })

  await startRouter(respond, 'compactions.spark')
  const reported = run(undefined, undefined, { compaction: 'trigger', dialect: 'responses' })
  await reported.over
  expect(reported).toMatchObject({ text: 'hello', end: { usage: USAGE } })
  expect(servedByFormer).toEqual([])
})

test('a job that a frozen router got goes to another, with the time that is left', async () => {
  const headers: JobHeader[] = []
  const keyedMutex = (job: IncomingJob, header: JobHeader) => {
    headers.push(header)
    if (headers.length === 3) respond(job)
  }
  await startRouter(keyedMutex)
  const reported = run()
  await reported.over
  expect(reported).toMatchObject({ text: 'hello', ends: 1 })
  expect(headers.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
  expect(headers[2]!.remainingMs).toBeLessThanOrEqual(headers[0]!.remainingMs - 2 * TUNING.acceptTimeoutMs + 20)
  expect(new Set(headers.map(({ requestId }) => requestId)).size).toBe(1)
})

test('a job meets a frozen router once, however many routers there are', async () => {
  const ROUTERS = 4
  const ended = new Set<number>()
  const attemptsOf = new Map<string, number>()
  let isFrozen = false
  for (let router = 0; router < ROUTERS; router++) {
    await startRouter((job, header) => {
      attemptsOf.set(header.requestId, header.attempt)
      if (isFrozen && router > 0) return
      ended.add(router)
      respond(job)
    })
  }
  while (ended.size < ROUTERS) await run().over
  isFrozen = true
  await run(10_000, undefined, { requestId: 'first' }).over

  for (let job = 0; job < 40; job++) await run(10_000, undefined, { requestId: `frozen ${job}` }).over
  const dispatches = [...attemptsOf].filter(([id]) => id.startsWith('frozen')).map(([, attempt]) => attempt)
  expect(dispatches).toHaveLength(40)
  expect(dispatches.filter((attempt) => attempt > 2)).toEqual([])
})

test('an end that the edge cannot read counts as a lost router: the response begins again', async () => {
  let dispatched = 0
  await startRouter((job) => {
    if (++dispatched > 1) return respond(job)
    job.accept()
    job.head(encode(HEAD))
    job.end(encode({ attempts: 'of a later version' }))
  })
  const reported = run()
  await reported.over
  expect(reported).toMatchObject({ text: 'hello', ends: 1, losses: [{ losses: 1, isLast: false }] })
})

test('a job that a stopping router gives back goes to another', async () => {
  let dispatched = 0
  await startRouter((job) => (++dispatched < 3 ? job.reject('draining') : respond(job)))
  const reported = run()
  await reported.over
  expect(reported).toMatchObject({ text: 'hello', ends: 1 })
})

test('a client does not notice a router that is lost before the response began', async () => {
  const bus = await startRouter((job) => {
    job.accept()
    hub.cut(bus.processId)
  })
  const reported = run()
  await sleep(40)
  await startRouter(respond)
  await reported.over
  expect(reported).toMatchObject({ text: 'hello', isInterrupted: false, ends: 1 })
})

test('a router that is lost after its head is not noticed while nothing was given to the client', async () => {
  const bus = await startRouter((job) => {
    job.accept()
    job.head(encode(HEAD))
    void job.data(Buffer.from('hel'))?.catch(() => {})
    setTimeout(() => hub.cut(bus.processId), 40)
  })
  const reported = run()
  await expect.poll(() => reported.text).toBe('hel')
  await startRouter(respond)
  await reported.over
  expect(reported).toMatchObject({ text: 'hello', isInterrupted: false, ends: 1 })
})

test('a job that loses router after router is given up at the third, and each loss is reported', async () => {
  const taken: string[] = []
  for (let routers = 0; routers < 5; routers++) {
    const bus = await startRouter((job) => {
      job.accept()
      taken.push(bus.processId)
      setTimeout(() => hub.cut(bus.processId), 20)
    })
  }
  const reported = run()
  await reported.over
  expect(reported).toMatchObject({ failure: { code: 'SERVICE_UNAVAILABLE' }, ends: 1 })
  expect(taken).toHaveLength(3)
  expect(reported.losses).toEqual(taken.map((router, index) => ({ router, losses: index + 1, isLast: index === 2 })))
})

test('a router that is lost after the response began is reported, and nothing is repeated', async () => {
  let taken = 0
  const bus = await startRouter((job) => {
    taken++
    job.accept()
    job.head(encode(HEAD))
    void job.data(Buffer.from('hel'))
    setTimeout(() => hub.cut(bus.processId), 40)
  })
  const reported = run(10_000, () => false)
  await expect.poll(() => reported.text).toBe('hel')
  await startRouter(() => taken++)
  await reported.over
  expect(reported).toMatchObject({ isInterrupted: true, end: null, failure: null, ends: 1 })
  await sleep(150)
  expect(taken).toBe(1)
})

test("a router's verdict is final", async () => {
  const failure: ResponseFailure = { code: 'UPSTREAMS_EXHAUSTED', message: 'none left', attempted: ['a'], attempts: [] }
  let taken = 0
  await startRouter((job) => {
    taken++
    job.accept()
    job.failure(encode(failure))
  })
  const reported = run()
  await reported.over
  expect(reported).toMatchObject({ failure, ends: 1 })
  expect(taken).toBe(1)
})

test('a job whose time is up before anybody took it is given up', async () => {
  const reported = run(300)
  await reported.over
  expect(reported).toMatchObject({ failure: { code: 'SERVICE_UNAVAILABLE' }, ends: 1 })
})

test('a job that is stopped gets its router’s last word, and that one stops', async () => {
  const stopped = Promise.withResolvers<unknown>()
  const verdict = { code: 'SERVICE_UNAVAILABLE', message: 'left', attempted: [], attempts: [], usage: USAGE }
  await startRouter((job) => {
    job.accept()
    job.head(encode(HEAD))
    void job.data(Buffer.from('hel'))?.catch(() => {})
    job.signal.addEventListener('abort', () => {
      stopped.resolve(job.signal.reason)
      job.failure(encode(verdict))
    })
  })
  const reported = run()
  await expect.poll(() => reported.text).toBe('hel')
  reported.run.stop()
  expect(await stopped.promise).toMatchObject({ abortCause: 'stopped' })
  await reported.over
  expect(reported).toMatchObject({ failure: { usage: USAGE }, ends: 1 })
})

test('a job that is stopped and loses its router goes to no other', async () => {
  let taken = 0
  const bus = await startRouter((job) => {
    taken++
    job.accept()
  })
  const reported = run()
  await expect.poll(() => taken).toBe(1)
  // The edge hears that it was accepted.
  await sleep(20)
  hub.cut(bus.processId)
  reported.run.stop()
  await startRouter(() => taken++)
  await reported.over
  expect(reported).toMatchObject({ isInterrupted: true, ends: 1 })
  expect(taken).toBe(1)
})

test('a job that is stopped while it waits for a router is never dispatched', async () => {
  const reported = run()
  reported.run.stop()
  let taken = 0
  await startRouter(() => taken++)
  await sleep(150)
  expect({ taken, ends: reported.ends }).toEqual({ taken: 0, ends: 1 })
})

describe('a client that waits only so long for the headers', () => {
  test('each dispatch states how much of that time is left', async () => {
    const headers: JobHeader[] = []
    await startRouter((job, header) => {
      headers.push(header)
      if (headers.length === 2) respond(job)
    })
    await run(60_000, () => true, { headWithinMs: 5_000 }).over
    const [first, second] = headers.map(({ headWithinMs }) => headWithinMs!)
    expect(first).toBeLessThanOrEqual(5_000)
    expect(second).toBeLessThanOrEqual(first! - TUNING.acceptTimeoutMs + 20)
  })

  test('once the response has begun, that time no longer counts', async () => {
    await startRouter((job) => {
      job.accept()
      job.head(encode(HEAD))
      setTimeout(() => job.end(END), 2_600)
    })
    const reported = run(60_000, () => true, { headWithinMs: 100 })
    await reported.over
    expect(reported).toMatchObject({ end: { usage: USAGE }, isInterrupted: false, ends: 1 })
  })

  test('a router that does not keep to it is given up, and stopped', async () => {
    const stopped = Promise.withResolvers<void>()
    await startRouter((job) => {
      job.accept()
      job.signal.addEventListener('abort', () => {
        stopped.resolve()
        job.failure(encode({ code: 'SERVICE_UNAVAILABLE', message: 'left', attempted: [], attempts: [] }))
      })
    })
    const reported = run(60_000, () => true, { headWithinMs: 100 })
    await reported.over
    expect(reported.failure).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    await stopped.promise
  })

  test('no router in that time is a failure in that time', async () => {
    const startedAt = performance.now()
    const reported = run(60_000, () => true, { headWithinMs: 300 })
    await reported.over
    expect(reported.failure).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(performance.now() - startedAt).toBeLessThan(30_000)
  })
})

/** Within three seconds, where each refusal comes at once. */
const MOST_BUSY_DISPATCHES = 11

test('where every router is late, the client gets a 503 within seconds, with the time to come back', async () => {
  let dispatches = 0
  await startRouter((job) => {
    dispatches++
    job.reject('busy')
  })
  const startedAtMs = performance.now()
  const reported = run(60_000)
  await reported.over
  expect(reported.failure).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterMs: expect.any(Number) })
  expect(dispatches).toBeGreaterThan(1)
  expect(dispatches).toBeLessThanOrEqual(MOST_BUSY_DISPATCHES)
  expect(performance.now() - startedAtMs).toBeLessThan(30_000)
  expect(reported.ends).toBe(1)
})

test('where one router is late, another serves', async () => {
  let refusals = 0
  await startRouter((job) => {
    // The memory bus offers a job to one router after the other.
    if (refusals++ === 0) job.reject('busy')
    else respond(job)
  })
  const reported = run()
  await reported.over
  expect(reported.failure).toBeNull()
  expect(reported.text).toBe('hello')
})

test.each<[string, (job: IncomingJob) => void]>([
  ['taken', respond],
  ['given back', (job) => job.reject('no_place')],
  ['left alone', () => {}],
])(
  'the outcome of the first dispatch is reported once, however often the job is dispatched: %s',
  async (_, handler) => {
    await startRouter(handler)
    let reports = 0
    const over = Promise.withResolvers<void>()
    runJob(edge, plannedJob(), Buffer.from('{}'), 500, {
      onHead() {},
      onData() {},
      onEnd: async () => over.resolve(),
      onFailure: async () => over.resolve(),
      onInterrupted: () => over.resolve(),
      onRouterLost: () => false,
      onOverdue() {},
      onFirstDispatch: () => void reports++,
    })
    await over.promise
    expect(reports).toBe(1)
  },
)
