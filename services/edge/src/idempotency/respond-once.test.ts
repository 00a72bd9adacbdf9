/**
 * Two edges on one bus and one store, before requests that do as the test says.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createMemoryHub, openMemoryBus, type MemoryHub } from '@gateway/bus/memory'
import { GatewayError } from '@gateway/contracts/errors'
import type { ResponseSecretsReply } from '@gateway/contracts/idempotency'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { openMemoryIdempotency } from '@gateway/idempotency/memory'
import { type IdempotencyStore, IdempotencyUnavailableError } from '@gateway/idempotency/port'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import express from 'express'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { usageEvent } from '../../test/planned-job.ts'
import type { Client } from '../relay/client-writer.ts'
import { LEAST_BYTES_IN_FLIGHT, trackBytesInFlight } from '../http/memory-budget.ts'
import type { EdgeContext } from '../edge-context.ts'
import type { InferenceRequest } from '../requests/inference-kinds.ts'
import { beginRequest, measuredOf } from '../http/take-steps.ts'
import { edgeMetrics } from '../metrics.ts'
import { renderErrors } from '../http/render-errors.ts'
import type { RunningRequest } from '../admission/running-requests.ts'
import { cacheResponseKeys } from './response-keys.ts'
import { respondOnce } from './respond-once.ts'
import { MAX_KEPT_BYTES } from './shared-response.ts'
import { CLAIM_LEASE_MS, trackRunningResponses } from './running-responses.ts'

/** An edge that is lost is known to be within a fraction of a second. */
const TUNING = { heartbeatMs: 20, lostAfterMs: 120, graceMs: 120, tickMs: 10 }
const HEADERS = { 'x-svc-upstream': 'nova', 'x-svc-quota-used': '1' }
const LIMITS = { deadlineMs: 20_000, countFault: async () => {} }
const PLAN = { slug: 'free', unit: 'tokens', limit: 1_000 }
const secret = (): ResponseSecretsReply => ({
  secrets: [{ masterKeyId: randomBytes(6).toString('hex'), secret: randomBytes(32).toString('base64url') }],
})

/** A request under way: the test writes its response. */
interface Run {
  edge: number
  client: Client
  stopped: boolean
  /** Its usage is stored, and its end goes out. */
  finish(): Promise<void>
  fail(error: GatewayError): void
}

let opened: AsyncDisposableStack
let hub: MemoryHub
let store: IdempotencyStore
let clock: { nowMs: number }
let secrets: ResponseSecretsReply
let runs: Run[]
let reports: UsageEvent[]
let edges: Awaited<ReturnType<typeof openEdge>>[]
let metered: () => Promise<void>

beforeEach(async () => {
  opened = new AsyncDisposableStack()
  hub = createMemoryHub()
  clock = { nowMs: Date.now() }
  const memory = opened.use(openMemoryIdempotency({ now: () => clock.nowMs }))
  store = { ...memory }
  secrets = secret()
  runs = []
  reports = []
  metered = async () => {}
  edges = [await openEdge(0), await openEdge(1)]
})
afterEach(async () => {
  for (const run of runs) run.fail(new GatewayError('SERVICE_UNAVAILABLE', 'The test is over'))
  await opened.disposeAsync()
})

async function openEdge(index: number) {
  const bus = opened.use(await openMemoryBus({ hub, tuning: TUNING }))
  const logger = createLogger({ service: 'edge', level: 'silent' })
  let isDead = false
  const ownStore: IdempotencyStore = {
    claim: (...call) => store.claim(...call),
    renew: async (...call) => (isDead ? [] : store.renew(...call)),
    keep: (...call) => store.keep(...call),
    settle: (...call) => store.settle(...call),
    release: (...call) => store.release(...call),
    [Symbol.asyncDispose]: async () => {},
  }
  const running = new Map<string, RunningRequest>()
  const edge = {
    bus,
    bytes: trackBytesInFlight(
      LEAST_BYTES_IN_FLIGHT,
      () => '',
      () => {},
    ),
    logger,
    metrics: edgeMetrics(createMetrics({ service: 'edge' })),
    tracer: NO_TRACING,
    settings: { docsUrl: 'http://docs', topupUrl: 'http://topup' },
    config: { current: { plans: [PLAN] } },
    admission: {
      authenticate: async () => ({ kind: 'active', plan: 'free', overage: false, extra: 0, used: 7_000 }),
    },
    running: {
      begin: (request: RunningRequest) => running.set(request.requestId, request),
      end: (requestId: string) => running.delete(requestId),
    },
    usage: {
      report(event: UsageEvent) {
        const inTime = metered().then(() => void reports.push(event))
        return { inTime, stored: inTime }
      },
    },
    idempotency: {
      store: ownStore,
      keys: cacheResponseKeys({ responseSecrets: async () => secrets }),
      running: opened.use(await trackRunningResponses(bus, ownStore, logger)),
    },
  } as unknown as EdgeContext

  const app = express()
  app.use(beginRequest(edge))
  app.get('/', (request, response) => {
    const { requestId } = measuredOf(response)
    const query = new URL(request.url, 'http://edge').searchParams
    const stream = query.has('stream')
    const body = Buffer.from(query.get('body') ?? 'body')
    const ofChat = { kind: 'chat', dialect: 'chat', model: 'svc-core', includeUsage: false }
    const inference = { ...ofChat, stream, body } as unknown as InferenceRequest
    const caller = { account: 'acc', keyId: 'key', keyHash: 'hash' }
    const run = (client: Client) => runAt(index, client, stream, requestId)
    return respondOnce(
      edge,
      { key: 'the-key', caller, requestId, inference, wantsReceipt: query.has('receipt'), ...LIMITS },
      response,
      run,
    )
  })
  app.use(renderErrors(edge))
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.defer(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => promisify(server.getConnections.bind(server))(),
    running,
    /** Other edges cannot reach it, while it still reaches the store. */
    cutOff: () => hub.cut(bus.processId),
    /** As other edges see it. */
    die() {
      isDead = true
      hub.cut(bus.processId)
    },
  }
}

function runAt(edge: number, client: Client, stream: boolean, requestId: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const run: Run = {
    edge,
    client,
    stopped: false,
    async finish() {
      const usage = usageEvent({ requestId, account: 'acc' })
      await client.keep?.(usage, new Uint8Array(0), {})
      await metered()
      client.finish(() => HEADERS)
      resolve()
    },
    fail: reject,
  }
  client.listen({
    consumed() {},
    left() {
      run.stopped = true
      resolve()
    },
    headersOnSilence: () => ({}),
  })
  client.begin(stream ? 'text/event-stream' : 'application/json', () => HEADERS)
  runs.push(run)
  return promise
}

const send = (edge: number, query = '', signal?: AbortSignal) =>
  fetch(`${edges[edge]!.url}/?${query}`, signal ? { signal } : {})

async function read(response: Response) {
  const text = await response.text().catch((error: unknown) => `broken: ${String(error)}`)
  return { status: response.status, text, replayed: response.headers.get('idempotent-replayed') }
}

const nextRun = async (index: number): Promise<Run> => {
  await expect.poll(() => runs.length, { interval: 5 }).toBeGreaterThan(index)
  return runs[index]!
}

/** A later request finds the first one running. */
async function firstRuns(query = ''): Promise<{ first: Promise<Response>; run: Run }> {
  const first = send(0, query)
  return { first, run: await nextRun(0) }
}

describe('those who join', () => {
  test('are given each piece as it comes, at the owner’s edge and at another', async () => {
    const { first, run } = await firstRuns('stream')
    run.client.write(Buffer.from('one\n\n'))
    const responses = await Promise.all([first, send(0, 'stream'), send(1, 'stream')])
    const readers = responses.map((response) => response.body!.getReader())
    const readPiece = async () => {
      const pieces = await Promise.all(readers.map((reader) => reader.read()))
      return pieces.map(({ value }) => Buffer.from(value).toString())
    }
    expect(await readPiece()).toEqual(['one\n\n', 'one\n\n', 'one\n\n'])
    run.client.write(Buffer.from('two\n\n'))
    expect(await readPiece()).toEqual(['two\n\n', 'two\n\n', 'two\n\n'])
    void run.finish()
    expect(await readPiece()).toEqual(Array.from({ length: 3 }, () => 'data: [DONE]\n\n'))
    expect(new Set(responses.map(({ headers }) => headers.get('x-request-id'))).size).toBe(1)
    expect(runs).toHaveLength(1)
  })

  test('get the same failure as the first', async () => {
    const { first, run } = await firstRuns()
    const others = [send(0), send(1)]
    await sleep(100)
    run.fail(new GatewayError('rate_limit_exceeded', 'Too many', { type: 'requests', retryAfterMs: 900 }))
    for (const response of await Promise.all([first, ...others])) {
      expect(response.status).toBe(429)
      expect(response.headers.get('retry-after-ms')).toBe('900')
    }
    const again = send(1)
    await (await nextRun(1)).finish()
    expect((await again).headers.get('idempotent-replayed')).toBeNull()
  })

  test('and leave disturb nobody', async () => {
    const { first, run } = await firstRuns('stream')
    const leaving = new AbortController()
    const others = [send(0, 'stream', leaving.signal), send(1, 'stream', leaving.signal)]
    run.client.write(Buffer.from('one\n\n'))
    await Promise.all(others)
    leaving.abort()
    await sleep(50)
    run.client.write(Buffer.from('two\n\n'))
    await run.finish()
    expect((await read(await first)).text).toBe('one\n\ntwo\n\ndata: [DONE]\n\n')
  })

  test('with a key that is revoked then are cut, alone', async () => {
    const { first, run } = await firstRuns('stream')
    run.client.write(Buffer.from('one\n\n'))
    const joined = await send(1, 'stream')
    const reading = read(joined)
    for (const request of edges[1]!.running.values()) request.cut()
    expect((await reading).text).toContain('INVALID_KEY')
    await run.finish()
    expect((await read(await first)).text).toContain('[DONE]')
  })

  test('with a live key are not refused because the first one’s key is dead: one of them runs', async () => {
    const { first, run } = await firstRuns()
    const others = [send(0), send(1)]
    await sleep(100)
    run.fail(new GatewayError('INVALID_KEY', 'Invalid key'))
    expect((await first).status).toBe(401)
    const second = await nextRun(1)
    second.client.write(Buffer.from('{"anew":1}'))
    await second.finish()
    for (const response of await Promise.all(others)) {
      expect(await read(response)).toMatchObject({ status: 200, text: '{"anew":1}' })
    }
    expect(runs).toHaveLength(2)
  })

  test('with a live key and some of the response get an error that allows a retry when the first one’s key dies', async () => {
    const { first, run } = await firstRuns('stream')
    run.client.write(Buffer.from('one\n\n'))
    const joined = (await Promise.all([send(0, 'stream'), send(1, 'stream')])).map(read)
    await sleep(100)
    run.client.fail(new GatewayError('INVALID_KEY', 'Invalid key'))
    expect((await read(await first)).text).toContain('INVALID_KEY')
    for (const { text } of await Promise.all(joined)) {
      expect(text).toContain('one\n\ndata: {"error"')
      expect(text).toContain('SERVICE_UNAVAILABLE')
    }
  })

  test('and have seen nothing when the owner dies are given another run, once its claim has lapsed', async () => {
    const { run } = await firstRuns()
    run.client.write(Buffer.from('{"never'))
    const blind = send(1)
    await sleep(100)
    edges[0]!.die()
    await sleep(300)
    expect(runs).toHaveLength(1)
    clock.nowMs += CLAIM_LEASE_MS
    const second = await nextRun(1)
    expect(second.edge).toBe(1)
    second.client.write(Buffer.from('{"anew":1}'))
    await second.finish()
    expect(await read(await blind)).toEqual({ status: 200, text: '{"anew":1}', replayed: null })
  })

  test('and have seen some when the owner dies get an error that says so', async () => {
    const { run } = await firstRuns('stream')
    run.client.write(Buffer.from('one\n\n'))
    const seeing = read(await send(1, 'stream'))
    edges[0]!.die()
    const { text } = await seeing
    expect(text).toContain('one\n\ndata: {"error"')
    expect(text).not.toContain('[DONE]')
  })

  test('at another edge see whole events, also where the owner dies in the middle of one', async () => {
    const { run } = await firstRuns('stream')
    run.client.write(Buffer.from('data: 1\n\n'))
    const seeing = await send(1, 'stream')
    const reader = seeing.body!.getReader()
    expect(Buffer.from((await reader.read()).value).toString()).toBe('data: 1\n\n')
    // As the bus cuts a large one.
    run.client.write(Buffer.from('data: hal'))
    await sleep(100)
    edges[0]!.die()
    const rest = Buffer.from((await reader.read()).value).toString()
    expect(rest).toMatch(/^data: \{"error"/)
  })

  test('wait for an owner that cannot be reached as long as it renews its claim, and for one that can as long as it responds', async () => {
    const { first, run } = await firstRuns()
    const renewing = store
    store = { ...renewing, renew: async () => [] }
    clock.nowMs += CLAIM_LEASE_MS
    const reachable = send(1)
    await sleep(300)
    store = renewing
    await sleep(1_100)
    edges[0]!.cutOff()
    const unreachable = send(1)
    await sleep(300)
    expect(runs).toHaveLength(1)
    await run.finish()
    const responses = await Promise.all(
      [first, reachable, unreachable].map(async (response) => (await response).status),
    )
    expect(responses).toEqual([200, 200, 200])
    expect(runs).toHaveLength(1)
  })

  test('too late for a response that cannot be kept wait for its end, and run again', async () => {
    const { first, run } = await firstRuns()
    const reading = first.then(read)
    run.client.write(Buffer.alloc(MAX_KEPT_BYTES + 1, 'x'))
    const late = [send(0), send(1)]
    await sleep(400)
    expect(runs).toHaveLength(1)
    await run.finish()
    expect((await reading).text).toHaveLength(MAX_KEPT_BYTES + 1)
    await (await nextRun(1)).finish()
    expect((await Promise.all(late)).map(({ status }) => status)).toEqual([200, 200])
    expect(runs).toHaveLength(2)
  })
})

describe('a kept response', () => {
  async function keepOne(query = ''): Promise<string> {
    const { first, run } = await firstRuns(query)
    run.client.write(Buffer.from('{"answer":1}'))
    await run.finish()
    const { text } = await read(await first)
    await sleep(20)
    return text
  }

  test('is given again with where the account stands now', async () => {
    const text = await keepOne()
    const again = await send(1)
    expect(await read(again)).toEqual({ status: 200, text, replayed: 'true' })
    expect(Object.fromEntries(again.headers)).toMatchObject({
      'x-svc-upstream': 'nova',
      'x-svc-quota-plan': 'free',
      'x-svc-quota-used': '7',
      'x-svc-quota-limit': '1000',
      'content-type': 'application/json',
      'content-length': String(text.length),
    })
    expect(reports).toEqual([])
  })

  test('whose usage is not known to be stored is given when it is, and not before', async () => {
    metered = () => Promise.reject(new Error('no broker'))
    const { first, run } = await firstRuns()
    run.client.write(Buffer.from('{"answer":1}'))
    // As the relay does: nothing goes out before its usage is stored.
    await expect(run.finish()).rejects.toThrow('no broker')
    run.client.fail(new GatewayError('SERVICE_UNAVAILABLE', 'The answer could not be metered in time'))
    expect((await first).status).toBe(503)
    expect((await send(1)).status).toBe(503)
    metered = async () => {}
    expect(await read(await send(1))).toEqual({ status: 200, text: '{"answer":1}', replayed: 'true' })
    expect(reports).toMatchObject([{ account: 'acc', outcome: 'completed', delivered: true }])
    await sleep(20)
    expect((await send(0)).status).toBe(200)
    expect(reports).toHaveLength(1)
    expect(runs).toHaveLength(1)
  })

  test('that nobody can open any more is forgotten, and the request runs', async () => {
    await keepOne()
    secrets = secret()
    const refreshed = await openEdge(0)
    const again = fetch(refreshed.url)
    await (await nextRun(1)).finish()
    expect((await again).headers.get('idempotent-replayed')).toBeNull()
    expect((await fetch(refreshed.url)).headers.get('idempotent-replayed')).toBe('true')
  })

  test("sealed under a master secret that is newer than this edge's copy opens all the same", async () => {
    await (await edgeThatKnows(edges[0]!)).text()
    const former = secrets
    secrets = { secrets: [...secret().secrets, ...former.secrets] }
    const newer = await openEdge(1)
    const first = fetch(`${newer.url}/?body=newer`)
    await (await nextRun(1)).finish()
    expect((await first).status).toBe(200)
    await sleep(20)
    expect((await send(0, 'body=newer')).headers.get('idempotent-replayed')).toBe('true')
  })

  /** It has fetched the keys, and the key is free again. */
  async function edgeThatKnows({ url }: { url: string }): Promise<Response> {
    const sending = fetch(`${url}/?body=${randomUUID()}`)
    ;(await nextRun(0)).fail(new GatewayError('SERVICE_UNAVAILABLE', 'broken'))
    return sending
  }

  const shapes = ['', 'body=another', 'stream', 'receipt', 'stream&receipt']
  test.each(shapes)('of the request "%s" is never given for one with another body or another shape', async (first) => {
    await keepOne(first)
    for (const query of shapes.filter((shape) => shape !== first)) {
      const refused = await read(await send(1, query))
      expect([query, refused.status]).toEqual([query, 400])
      expect(JSON.parse(refused.text)).toMatchObject({ code: 'VALIDATION_ERROR' })
    }
    expect((await send(1, first)).headers.get('idempotent-replayed')).toBe('true')
  })
})

describe('a store that is away', () => {
  const away = async (): Promise<never> => {
    throw new IdempotencyUnavailableError('away')
  }

  test('means that nobody can know', async () => {
    store = { ...store, claim: away }
    const { status, text } = await read(await send(0))
    expect({ status, runs: runs.length }).toEqual({ status: 503, runs: 0 })
    expect(text).toContain('Idempotency-Key')
  })

  test('holds up no response, which is kept when the store is back', async () => {
    const { first, run } = await firstRuns()
    const back = store
    store = { ...store, keep: away, renew: away, settle: away }
    run.client.write(Buffer.from('{"answer":1}'))
    await run.finish()
    expect((await read(await first)).text).toBe('{"answer":1}')
    // Given from memory until then, here and to other edges.
    expect(await Promise.all([send(0), send(1)].map(async (again) => (await read(await again)).text))).toEqual([
      '{"answer":1}',
      '{"answer":1}',
    ])
    store = back
    const isKept = async () => {
      const claim = { account: 'acc', requestId: randomUUID(), owner: 'test', fingerprint: 'none' }
      const name = [...names][0]!
      return (await store.claim({ ...claim, name }, { leaseMs: 1 })).kind
    }
    const names = new Set<string>()
    store = { ...back, keep: (claim, ...rest) => (names.add(claim.name), back.keep(claim, ...rest)) }
    await expect.poll(() => names.size).toBe(1)
    await expect.poll(isKept).toBe('kept')
    expect(runs).toHaveLength(1)
  })
})

test('an edge that was frozen stops a run that another edge has taken over', async () => {
  const { first, run } = await firstRuns('stream')
  run.client.write(Buffer.from('one\n\n'))
  const reading = first.then(read)
  store = { ...store, renew: async (claims) => claims.map(({ requestId }) => requestId) }
  expect((await reading).text).toContain('"error"')
  expect(run.stopped).toBe(true)
})

test('a run has its key until another edge takes it, and while nobody can say', async () => {
  const { run } = await firstRuns('stream')
  expect(await run.client.owns?.()).toBe(true)
  const held = store
  store = { ...held, renew: () => Promise.reject(new Error('the store is away')) }
  expect(await run.client.owns?.()).toBe(true)
  store = { ...held, renew: async (claims) => claims.map(({ requestId }) => requestId) }
  expect(await run.client.owns?.()).toBe(false)
})

test('a refused client may send another request under the same key at once', async () => {
  const { release } = store
  store = { ...store, release: async (...call) => (await sleep(50), release(...call)) }
  const { first, run } = await firstRuns()
  run.fail(new GatewayError('rate_limit_exceeded', 'Too many', { type: 'requests', retryAfterMs: 900 }))
  expect((await first).status).toBe(429)
  const another = send(1, 'body=another')
  await (await nextRun(1)).finish()
  expect((await another).status).toBe(200)
})

test('a client that leaves before its turn begins nothing', async () => {
  const [arrived, claiming] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const held = store
  store = {
    ...held,
    async claim(...call) {
      const response = await held.claim(...call)
      arrived.resolve()
      await claiming.promise
      return response
    },
  }
  const leaving = new AbortController()
  const left = send(0, '', leaving.signal).catch(() => 'left')
  await arrived.promise
  leaving.abort()
  expect(await left).toBe('left')
  await expect.poll(() => edges[0]!.connections()).toBe(0)
  claiming.resolve()
  await sleep(50)
  expect(runs).toHaveLength(0)
  store = held
  const again = send(1)
  await (await nextRun(0)).finish()
  expect((await again).status).toBe(200)
})
