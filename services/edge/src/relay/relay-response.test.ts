import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { QuotaStatus } from '@gateway/admission/port'
import { createMemoryHub, openMemoryBus, type MemoryHub } from '@gateway/bus/memory'
import type { IncomingJob, JobOver } from '@gateway/bus/port'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { createLogger } from '@gateway/telemetry/logger'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import { createMetrics } from '@gateway/telemetry/metrics'
import express from 'express'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { encode, HEAD, plannedJob, USAGE } from '../../test/planned-job.ts'
import type { Admitted } from '../admission/admit.ts'
import type { EdgeContext } from '../edge-context.ts'
import { measuredOf, beginRequest } from '../http/take-steps.ts'
import { LEAST_BYTES_IN_FLIGHT, trackBytesInFlight } from '../http/memory-budget.ts'
import { edgeMetrics } from '../metrics.ts'
import { httpClient } from './http-client.ts'
import type { Client } from './client-writer.ts'
import { relayResponse } from './relay-response.ts'
import { renderErrors } from '../http/render-errors.ts'
import type { RunningRequest } from '../admission/running-requests.ts'

/** A router that is lost is known to be within a fraction of a second. */
const TUNING = { heartbeatMs: 20, lostAfterMs: 120, graceMs: 120, tickMs: 10 }
const END = encode({ usage: USAGE, attempts: [] })
/** The last word of a router whose caller has left. */
const LEFT = {
  code: 'SERVICE_UNAVAILABLE',
  message: 'left',
  attempted: ['a'],
  attempts: [{ backend: 'a', model: 'model-a', outcome: 'aborted', durationMs: 1 }],
}
const ATTEMPTS = [{ backend: 'a', model: 'model-a', outcome: 'reset', durationMs: 1 }]
const EVENT = 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'

let opened: AsyncDisposableStack
let hub: MemoryHub
beforeEach(() => {
  opened = new AsyncDisposableStack()
  hub = createMemoryHub()
})
afterEach(() => opened.disposeAsync())

interface StageOptions {
  stream: boolean
  dialect?: ClientDialect
  routers?: number
  store?: () => Promise<void>
  /** Where it is stored, however late. */
  late?: () => Promise<void>
  /** All that may be in the process at once. */
  mostBytes?: number
  /** The steps before the relay. */
  admit?: (response: ServerResponse) => Promise<unknown>
  /** The client that the relay meets. */
  seen?: (client: Client) => Client
}

/** An edge's relay behind HTTP, before a router that does as the test says. */
async function stage(
  serve: (job: IncomingJob, routerId: string) => void,
  {
    stream,
    dialect = 'chat',
    routers = 1,
    store = async () => {},
    late = async () => {},
    mostBytes = LEAST_BYTES_IN_FLIGHT,
    admit = async () => {},
    seen = (client) => client,
  }: StageOptions,
) {
  const bus = opened.use(await openMemoryBus({ hub, tuning: TUNING }))
  for (let opening = 0; opening < routers; opening++) {
    const router = opened.use(await openMemoryBus({ hub, tuning: TUNING }))
    opened.use(await router.serveJobs('job.spark', 'routers', (job) => serve(job, router.processId)))
  }
  const reports: UsageEvent[] = []
  const finished: { charge: number; tokens: number }[] = []
  const running = new Map<string, RunningRequest>()
  const metrics = createMetrics({ service: 'edge' })
  const bytes = trackBytesInFlight(
    mostBytes,
    () => '',
    () => {},
  )
  const edge = {
    bus,
    bytes,
    metrics: edgeMetrics(metrics),
    tracer: NO_TRACING,
    logger: createLogger({ service: 'edge', level: 'silent' }),
    config: { current: {} },
    settings: { docsUrl: 'http://docs', topupUrl: 'http://topup' },
    admission: {
      finish: async ({ charge, tokens }: { charge: number; tokens: number }) => void finished.push({ charge, tokens }),
    },
    shedder: { enter() {}, leave() {}, arrived() {}, turnedAway() {}, refusedBehind() {} },
    running: {
      begin: (request: RunningRequest) => running.set(request.requestId, request),
      end: (requestId: string) => running.delete(requestId),
    },
    usage: {
      report(event: UsageEvent) {
        reports.push(event)
        return { inTime: store(), stored: late() }
      },
    },
  } as unknown as EdgeContext
  const job = plannedJob({ stream, dialect })
  const app = express()
  app.use(beginRequest(edge))
  const plan = {
    admitted,
    notices: {},
    job,
    body: Buffer.from('{}'),
    keyHash: 'hash',
    deadlineMs: 10_000,
    endpoint: '/',
    receipt: null,
  }
  app.get('/', async (_request, response) => {
    const client = seen(httpClient(response, job))
    await admit(response)
    await relayResponse(edge, { ...plan, measured: measuredOf(response) }, client)
  })
  app.use(renderErrors(edge))
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.defer(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, reports, finished, running, job, metrics, responseBudget: bytes.budget.memoryBudgets.answers }
}

const admitted = {
  plan: { slug: 'free', unit: 'tokens', limit: 1_000 },
  lane: { id: 'svc-instant' },
  price: plannedJob().price,
  worstCharge: 100_000,
  quotaStatus: quotaStatus(),
} as unknown as Admitted

function quotaStatus(): QuotaStatus {
  const window = { limit: 100, remaining: 99, resetMs: 0 }
  return {
    plan: 'free',
    planVersion: 1,
    window: '2026-11',
    windowResetAtMs: 0,
    used: 0,
    limit: 1_000_000,
    overage: false,
    requests: window,
    tokens: window,
    day: null,
    nowMs: 0,
  }
}

function beginStream(job: IncomingJob): void {
  job.accept()
  job.head(encode({ ...HEAD, contentType: 'text/event-stream' }))
  void job.data(Buffer.from(EVENT + EVENT))?.catch(() => {})
}

/** The text so far, where the connection breaks. */
async function readAll(response: Response): Promise<{ text: string; isComplete: boolean }> {
  let text = ''
  try {
    for await (const bytes of response.body!) text += Buffer.from(bytes).toString()
    return { text, isComplete: true }
  } catch {
    return { text, isComplete: false }
  }
}

test.for([true, false])('a response names the parameters that its backend did not get (stream: %s)', async (stream) => {
  const { url } = await stage(
    (job) => {
      job.accept()
      job.head(
        encode({
          ...HEAD,
          contentType: stream ? 'text/event-stream' : 'application/json',
          droppedParams: ['temperature', 'seed'],
        }),
      )
      void job.data(Buffer.from(stream ? EVENT : '{}'))?.catch(() => {})
      job.end(END)
    },
    { stream },
  )
  const response = await fetch(url)
  expect(response.headers.get('x-svc-dropped-params')).toBe('temperature, seed')
  await response.text()
})

describe('a stream', () => {
  test('whose headers are sent before its backend has begun names its pool', async () => {
    const early: Record<string, string>[] = []
    const { url } = await stage(
      (job) => {
        beginStream(job)
        job.end(END)
      },
      {
        stream: true,
        seen: (client) => ({
          ...client,
          listen(source) {
            early.push(source.headersOnSilence())
            client.listen(source)
          },
        }),
      },
    )
    await readAll(await fetch(url))
    expect(early).toEqual([expect.objectContaining({ 'x-svc-upstream': 'spark' })])
  })

  test('ends with [DONE] when its usage is stored, and not before', async () => {
    const stored = Promise.withResolvers<void>()
    const { url, reports, finished, running } = await stage(
      (job) => {
        beginStream(job)
        job.end(END)
      },
      { stream: true, store: () => stored.promise },
    )
    const response = await fetch(url)
    expect(response.headers.get('x-svc-upstream')).toBe('spark')
    const reading = readAll(response)
    await expect.poll(() => reports).toHaveLength(1)
    expect(await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, 50, 'still open'))])).toBe(
      'still open',
    )
    stored.resolve()
    expect(await reading).toEqual({ text: `${EVENT}${EVENT}data: [DONE]\n\n`, isComplete: true })
    expect(reports[0]).toMatchObject({ outcome: 'completed', delivered: true, usage: USAGE, reporter: 'edge' })
    expect(finished).toEqual([{ charge: 12_000, tokens: 12 }])
    expect(running.size).toBe(0)
  })

  test('whose usage cannot be stored ends with an error event', async () => {
    const { url } = await stage(
      (job) => {
        beginStream(job)
        job.end(END)
      },
      { stream: true, store: () => Promise.reject(new Error('no broker')) },
    )
    const { text } = await readAll(await fetch(url))
    expect(text).toContain('"code":"SERVICE_UNAVAILABLE"')
    expect(text).not.toContain('[DONE]')
  })

  test.each([
    ['is refused its end', (job: IncomingJob) => job.end(END)],
    ['is told of a failure', (job: IncomingJob) => job.failure(encode({ ...LEFT, usage: USAGE }))],
  ])('whose client %s keeps its router until the usage is stored, however late', async (_, sayLast) => {
    const late = Promise.withResolvers<void>()
    const over: JobOver[] = []
    const serve = (job: IncomingJob) => {
      job.onOver((how) => over.push(how))
      beginStream(job)
      sayLast(job)
    }
    const store = () => Promise.reject(new Error('no broker'))
    const { url, reports } = await stage(serve, { stream: true, store, late: () => late.promise })
    const { text } = await readAll(await fetch(url))
    expect(text).toContain('"error"')
    expect(reports).toHaveLength(1)
    // Longer than the bus takes to bring an acknowledgement.
    await new Promise((resolve) => setTimeout(resolve, 5 * TUNING.heartbeatMs))
    expect(over).toEqual([])
    late.resolve()
    await expect.poll(() => over).toEqual(['acknowledged'])
  })

  test('whose backend failed after content ends with an error event and bills the delivered content', async () => {
    const usage = { ...USAGE, completionTokens: 2, estimated: true }
    const failure = { code: 'UPSTREAMS_EXHAUSTED', message: 'broken', attempted: ['a'], attempts: ATTEMPTS, usage }
    const { url, reports, finished } = await stage(
      (job) => {
        beginStream(job)
        job.failure(encode(failure))
      },
      { stream: true },
    )
    const { text } = await readAll(await fetch(url))
    expect(text.startsWith(EVENT + EVENT)).toBe(true)
    expect(text).toContain('"code":"UPSTREAMS_EXHAUSTED"')
    expect(text).not.toContain('[DONE]')
    expect(reports).toMatchObject([{ outcome: 'backend_failed', delivered: false, usage, attempts: ATTEMPTS }])
    await expect.poll(() => finished).toEqual([{ charge: 11_000, tokens: 11 }])
  })

  test('whose router is lost after content ends with an error event and bills the events that were shown', async () => {
    const { url, reports } = await stage(
      (job, routerId) => {
        beginStream(job)
        setTimeout(() => hub.cut(routerId), 50)
      },
      { stream: true },
    )
    const { text } = await readAll(await fetch(url))
    expect(text).toContain('"error"')
    expect(text).not.toContain('[DONE]')
    expect(reports).toMatchObject([
      {
        outcome: 'router_lost',
        delivered: false,
        usage: { promptTokens: 11, completionTokens: 2, estimated: true },
      },
    ])
  })

  test('that is cut off inside an event ends with an error event that can be read', async () => {
    const { url, running, job } = await stage(
      (incoming) => {
        beginStream(incoming)
        void incoming.data(Buffer.from(EVENT + EVENT.slice(0, 20)))?.catch(() => {})
      },
      { stream: true },
    )
    const response = await fetch(url)
    setTimeout(() => running.get(job.requestId)!.cut(), 50)
    const { text } = await readAll(response)
    const events = text.split('\n\n').slice(0, -1)
    expect(events.slice(0, -1)).toEqual([EVENT, EVENT, EVENT].map((event) => event.trimEnd()))
    expect(JSON.parse(events.at(-1)!.slice('data: '.length))).toMatchObject({ error: { code: 'INVALID_KEY' } })
  })

  test('with an event larger than the send window comes completely', async () => {
    const large = `data: {"choices":[{"delta":{"content":"${'x'.repeat(3 * 1024 * 1024)}"}}]}\n\n`
    const { url } = await stage(
      (job) => {
        beginStream(job)
        void Promise.resolve(job.data(Buffer.from(large))).then(() => job.end(END))
      },
      { stream: true },
    )
    const { text } = await readAll(await fetch(url))
    expect(text).toBe(`${EVENT}${EVENT}${large}data: [DONE]\n\n`)
  })

  test('whose client leaves stops the router, and is billed the cost that the router reports', async () => {
    const usage = { ...USAGE, completionTokens: 2, estimated: true }
    const word = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<unknown>()
    const { url, reports, running, finished } = await stage(
      (job) => {
        beginStream(job)
        job.signal.addEventListener('abort', () => {
          stopped.resolve(job.signal.reason)
          void word.promise.then(() => job.failure(encode({ ...LEFT, usage })))
        })
      },
      { stream: true },
    )
    const leaving = new AbortController()
    const response = await fetch(url, { signal: leaving.signal })
    await response.body!.getReader().read()
    leaving.abort()
    expect(await stopped.promise).toMatchObject({ abortCause: 'stopped' })
    // Until then its reservation stays held.
    expect([running.size, finished.length]).toEqual([1, 0])
    word.resolve()
    await expect
      .poll(() => reports)
      .toMatchObject([{ outcome: 'client_gone', reporter: 'edge', delivered: false, usage, backend: 'a' }])
    await expect.poll(() => finished).toEqual([{ charge: 11_000, tokens: 11 }])
    expect(running.size).toBe(0)
  })

  test('whose client leaves when the router has ended it is billed the complete response', async () => {
    const held = Promise.withResolvers<void>()
    const { url, reports } = await stage(
      (job) => {
        beginStream(job)
        void held.promise.then(() => {
          void job.data(Buffer.from(EVENT.repeat(150_000)))?.catch(() => {})
          job.end(END)
        })
      },
      { stream: true },
    )
    const leaving = new AbortController()
    const response = await fetch(url, { signal: leaving.signal })
    await response.body!.getReader().read()
    held.resolve()
    await new Promise((resolve) => setTimeout(resolve, 100))
    leaving.abort()
    await expect.poll(() => reports).toMatchObject([{ outcome: 'client_gone', delivered: false, usage: USAGE }])
  })

  test('whose client leaves and whose router is then lost is billed the events that came', async () => {
    const { url, reports } = await stage(
      (job, routerId) => {
        beginStream(job)
        job.signal.addEventListener('abort', () => hub.cut(routerId))
      },
      { stream: true },
    )
    const leaving = new AbortController()
    const response = await fetch(url, { signal: leaving.signal })
    await response.body!.getReader().read()
    leaving.abort()
    await expect
      .poll(() => reports)
      .toMatchObject([{ outcome: 'client_gone', usage: { promptTokens: 11, completionTokens: 2, estimated: true } }])
  })

  test('whose client leaves before it has begun is billed the work of its backend', async () => {
    const usage = { ...USAGE, completionTokens: 0, estimated: true }
    const { url, reports } = await stage(
      (job) => {
        job.accept()
        job.signal.addEventListener('abort', () => job.failure(encode({ ...LEFT, usage })))
      },
      { stream: true },
    )
    await expect(fetch(url, { signal: AbortSignal.timeout(100) })).rejects.toThrow()
    await expect
      .poll(() => reports)
      .toMatchObject([{ outcome: 'client_gone', usage, backend: 'a', backendModel: 'model-a' }])
  })

  test('whose client leaves before any backend had it costs nothing, and releases its reservation at once', async () => {
    const { url, reports, finished } = await stage(
      (job) => {
        job.accept()
        job.signal.addEventListener('abort', () => job.failure(encode({ ...LEFT, attempts: [] })))
      },
      { stream: true },
    )
    await expect(fetch(url, { signal: AbortSignal.timeout(100) })).rejects.toThrow()
    await expect.poll(() => finished).toEqual([{ charge: 0, tokens: 0 }])
    expect(reports).toEqual([])
  })

  test('whose router is lost between its head and its content comes whole from another', async () => {
    let dispatched = 0
    const { url, reports } = await stage(
      (job, routerId) => {
        job.accept()
        job.head(encode({ ...HEAD, contentType: 'text/event-stream' }))
        if (++dispatched === 1) return void setTimeout(() => hub.cut(routerId), 50)
        void job.data(Buffer.from(EVENT))
        job.end(END)
      },
      { stream: true, routers: 2 },
    )
    const { text } = await readAll(await fetch(url))
    expect(text).toBe(`${EVENT}data: [DONE]\n\n`)
    expect(reports).toMatchObject([{ outcome: 'completed', usage: USAGE }])
  })

  test('whose client left before it was admitted reaches no router and holds nothing', async () => {
    let jobs = 0
    const leaving = new AbortController()
    const admit = async (response: ServerResponse) => {
      leaving.abort()
      await once(response, 'close')
    }
    const { url, finished, running } = await stage(() => void jobs++, { stream: true, admit })
    await expect(fetch(url, { signal: leaving.signal })).rejects.toThrow()
    await expect.poll(() => finished).toEqual([{ charge: 0, tokens: 0 }])
    expect(jobs).toBe(0)
    expect(running.size).toBe(0)
  })

  test('whose key is revoked ends with an error event and stops the router', async () => {
    const stopped = Promise.withResolvers<unknown>()
    const { url, running, job } = await stage(
      (incoming) => {
        beginStream(incoming)
        incoming.signal.addEventListener('abort', () => stopped.resolve(incoming.signal.reason))
      },
      { stream: true },
    )
    const response = await fetch(url)
    running.get(job.requestId)!.cut()
    const { text } = await readAll(response)
    expect(text).toContain('"code":"INVALID_KEY"')
    expect(text).not.toContain('[DONE]')
    expect(await stopped.promise).toMatchObject({ abortCause: 'stopped' })
  })
})

const eventOf = (data: { type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

const STREAMS = [
  {
    dialect: 'messages',
    content: [{ type: 'message_start' }, { type: 'content_block_delta' }, { type: 'message_delta' }].map(eventOf),
    terminal: eventOf({ type: 'message_stop' }),
    failed: (code: string) => ({
      type: 'error',
      error: expect.objectContaining({ code }) as unknown,
      request_id: expect.any(String) as string,
    }),
  },
  ...['response.completed', 'response.incomplete'].map((type) => ({
    dialect: 'responses' as const,
    content: ['response.created', 'response.output_text.delta'].map((name, number) =>
      eventOf({ type: name, sequence_number: number, response: { id: 'resp_1', output: [] } } as { type: string }),
    ),
    terminal: eventOf({ type, sequence_number: 2 } as { type: string }),
    failed: (code: string) => ({
      type: 'response.failed',
      sequence_number: 2,
      response: expect.objectContaining({
        id: 'resp_1',
        status: 'failed',
        error: { code, message: expect.any(String) as string },
      }) as unknown,
    }),
  })),
] as const

describe.each(STREAMS)('a stream of $dialect', ({ dialect, content, terminal, failed }) => {
  const begin = (job: IncomingJob) => {
    job.accept()
    job.head(encode({ ...HEAD, contentType: 'text/event-stream' }))
  }
  const send = (job: IncomingJob, ...pieces: string[]) => {
    for (const piece of pieces) void job.data(Buffer.from(piece))?.catch(() => {})
  }
  const lastOf = (text: string) => JSON.parse(text.trimEnd().split('data: ').at(-1)!) as unknown
  const done = dialect === 'responses' ? 'data: [DONE]\n\n' : ''

  test.each([
    ['events one by one', [...content, terminal]],
    ['all in one piece', [content.join('') + terminal]],
    ['the terminal event cut in two', [content.join('') + terminal.slice(0, 9), terminal.slice(9)]],
    ['bytes one by one', (content.join('') + terminal).split('')],
  ])('shows its terminal event when its usage is stored, and not before: %s', async (_, pieces) => {
    const stored = Promise.withResolvers<void>()
    const { url, reports } = await stage(
      (job) => {
        begin(job)
        send(job, ...pieces)
        job.end(END)
      },
      { stream: true, dialect, store: () => stored.promise },
    )
    const response = await fetch(url)
    let text = ''
    const reading = (async () => {
      for await (const bytes of response.body!) text += Buffer.from(bytes).toString()
    })()
    await expect.poll(() => reports).toHaveLength(1)
    await expect.poll(() => text).toBe(content.join(''))
    stored.resolve()
    await reading
    expect(text).toBe(content.join('') + terminal + done)
  })

  test('whose usage cannot be stored ends with a failure, and without its terminal event', async () => {
    const { url } = await stage(
      (job) => {
        begin(job)
        send(job, ...content, terminal)
        job.end(END)
      },
      { stream: true, dialect, store: () => Promise.reject(new Error('no broker')) },
    )
    const { text } = await readAll(await fetch(url))
    expect(text).not.toContain(terminal)
    expect(lastOf(text)).toEqual(failed('SERVICE_UNAVAILABLE'))
  })

  test('holds back no more than the process has memory for while usage is stored slowly', async () => {
    const large = terminal.replace('}\n\n', `,"output":"${'x'.repeat(200_000)}"}\n\n`)
    const stored = Promise.withResolvers<void>()
    const { url, responseBudget } = await stage(
      (job) => {
        begin(job)
        send(job, ...content, large)
        job.signal.addEventListener('abort', () => job.failure(encode({ ...LEFT, usage: USAGE })))
        job.end(END)
      },
      { stream: true, dialect, store: () => stored.promise, mostBytes: 4_000_000 },
    )
    const mostHeld = () => expect(responseBudget.used).toBeLessThanOrEqual(responseBudget.limit + large.length)
    const reading = Array.from({ length: 20 }, async () => readAll(await fetch(url)).finally(mostHeld))
    const first = await Promise.any(reading)
    expect(lastOf(first.text)).toEqual(failed('SERVICE_UNAVAILABLE'))
    stored.resolve()
    const texts = (await Promise.all(reading)).map(({ text }) => text)
    const complete = texts.filter((text) => text.endsWith(large + done))
    expect(complete.length).toBeGreaterThanOrEqual(Math.floor(responseBudget.limit / large.length))
    for (const text of texts.filter((text) => !complete.includes(text))) expect(text).not.toContain(large.slice(0, 25))
    await expect.poll(() => responseBudget).toMatchObject({ used: 0, bySender: new Map() })
  })

  test('whose backend failed after content ends with a failure', async () => {
    const failure = {
      code: 'UPSTREAMS_EXHAUSTED',
      message: 'broken',
      attempted: ['a'],
      attempts: ATTEMPTS,
      usage: USAGE,
    }
    const { url, reports } = await stage(
      (job) => {
        begin(job)
        send(job, ...content)
        job.failure(encode(failure))
      },
      { stream: true, dialect },
    )
    const { text } = await readAll(await fetch(url))
    expect(text.startsWith(content.join(''))).toBe(true)
    expect(lastOf(text)).toEqual(failed('UPSTREAMS_EXHAUSTED'))
    await expect.poll(() => reports).toMatchObject([{ outcome: 'backend_failed', delivered: false }])
  })
})

test('a response of the Messages API carries the headers that its clients read', async () => {
  const { url, job } = await stage(
    (incoming) => {
      incoming.accept()
      incoming.head(encode(HEAD))
      void incoming.data(Buffer.from('{}'))?.catch(() => {})
      incoming.end(END)
    },
    { stream: false, dialect: 'messages' },
  )
  const { headers } = await fetch(url)
  expect(headers.get('request-id')).toBe(job.requestId)
  expect(headers.get('anthropic-ratelimit-requests-remaining')).toBe('99')
  expect(headers.get('x-ratelimit-remaining-requests')).toBe('99')
})

describe('a JSON response', () => {
  const BODY = JSON.stringify({ object: 'chat.completion' })
  const serve = (job: IncomingJob) => {
    job.accept()
    job.head(encode(HEAD))
    void job.data(Buffer.from(BODY))
    job.end(END)
  }

  test('comes whole, with its length', async () => {
    const { url, reports } = await stage(serve, { stream: false })
    const response = await fetch(url)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-length')).toBe(String(BODY.length))
    expect(await response.text()).toBe(BODY)
    expect(reports).toMatchObject([{ outcome: 'completed', delivered: true, streamed: false }])
  })

  test('whose usage cannot be stored is an error', async () => {
    const { url } = await stage(serve, { stream: false, store: () => Promise.reject(new Error('no broker')) })
    const response = await fetch(url)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } })
  })

  test('of a router that is lost half-way through comes whole from another, and is billed once', async () => {
    let dispatched = 0
    const { url, reports, finished } = await stage(
      (job, routerId) => {
        if (++dispatched === 2) return serve(job)
        job.accept()
        job.head(encode(HEAD))
        void job.data(Buffer.from(BODY.slice(0, 8)))?.catch(() => {})
        setTimeout(() => hub.cut(routerId), 50)
      },
      { stream: false, routers: 2 },
    )
    const response = await fetch(url)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe(BODY)
    expect(reports).toMatchObject([{ outcome: 'completed', delivered: true }])
    expect(finished).toEqual([{ charge: 12_000, tokens: 12 }])
  })

  test('of which some was sent when its router is lost never looks complete', async () => {
    const { url, reports } = await stage(
      (job, routerId) => {
        job.accept()
        job.head(encode(HEAD))
        void job.data(Buffer.alloc(300 * 1024, 'x'))?.catch(() => {})
        setTimeout(() => hub.cut(routerId), 100)
      },
      { stream: false, routers: 2 },
    )
    expect((await readAll(await fetch(url))).isComplete).toBe(false)
    expect(reports).toMatchObject([{ outcome: 'router_lost', delivered: false }])
  })

  test('that costs each router its life is given up after three, free of charge', async () => {
    let dispatched = 0
    const { url, reports, finished, metrics } = await stage(
      (job, routerId) => {
        dispatched++
        job.accept()
        job.head(encode(HEAD))
        setTimeout(() => hub.cut(routerId), 20)
      },
      { stream: false, routers: 5 },
    )
    const response = await fetch(url)
    expect(response.status).toBe(503)
    expect(dispatched).toBe(3)
    expect(reports).toEqual([])
    await expect.poll(() => finished).toEqual([{ charge: 0, tokens: 0 }])
    expect(metrics.text()).toContain('gateway_router_losses_total{service="edge",given_up="yes"} 1')
  })

  test('that nobody could give is an error, and the reservation is released', async () => {
    const failure = { code: 'UPSTREAMS_EXHAUSTED', message: 'none left', attempted: ['a', 'b'], attempts: ATTEMPTS }
    const { url, reports, finished } = await stage(
      (job) => {
        job.accept()
        job.failure(encode(failure))
      },
      { stream: false },
    )
    const response = await fetch(url)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED', attempted: ['a', 'b'] })
    expect(reports).toEqual([])
    await expect.poll(() => finished).toEqual([{ charge: 0, tokens: 0 }])
  })
})

test('a run whose key another edge has by its end gives its client no end, and the ledger can distinguish it', async () => {
  const serve = (job: IncomingJob) => {
    job.accept()
    job.head(encode({ ...HEAD, contentType: 'text/event-stream' }))
    void job.data(Buffer.from(EVENT))
    job.end(END)
  }
  const seen = (client: Client): Client => ({ ...client, keep: async () => false })
  const { url, reports } = await stage(serve, { stream: true, seen })
  const text = await (await fetch(url)).text()
  expect(text).toContain('SERVICE_UNAVAILABLE')
  expect(text).not.toContain('[DONE]')
  await expect.poll(() => reports).toMatchObject([{ outcome: 'edge_lost', delivered: false, usage: USAGE }])
})

test.each(['its router is lost', 'its backend fails'])(
  'a run whose key another edge has when %s gives way to it, and the ledger can distinguish it',
  async (how) => {
    const failure = {
      code: 'UPSTREAMS_EXHAUSTED',
      message: 'none left',
      attempted: ['a'],
      attempts: ATTEMPTS,
      usage: USAGE,
    }
    const serve = (job: IncomingJob, routerId: string) => {
      beginStream(job)
      if (how === 'its backend fails') job.failure(encode(failure))
      else setTimeout(() => hub.cut(routerId), 50)
    }
    const seen = (client: Client): Client => ({ ...client, owns: async () => false })
    const { url, reports } = await stage(serve, { stream: true, seen })
    expect((await readAll(await fetch(url))).text).toContain('SERVICE_UNAVAILABLE')
    await expect.poll(() => reports).toMatchObject([{ outcome: 'edge_lost', delivered: false }])
  },
)
