import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMetrics } from '@gateway/telemetry/metrics'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  ACCOUNT_TAG_LENGTH,
  formatKey,
  KEY_ID_LENGTH,
  KEY_SECRET_LENGTH,
  randomBase62,
} from '@gateway/contracts/api-key'
import type { EdgeContext } from '../edge-context.ts'
import { openAccountCache } from '../auth/account-cache.ts'
import { namesKnownAccount } from '../auth/authenticate.ts'
import { clientNetwork } from './client-network.ts'
import { LEAST_BYTES_IN_FLIGHT, trackBytesInFlight } from './memory-budget.ts'
import { openLoadShedder, REFUSED_AT_ONCE, refuseWhileLate, type LoadShedder } from './load-shedder.ts'
import { beginRequest, type Step, type StepRequest, type StepResponse, takeSteps } from './take-steps.ts'
import { edgeMetrics } from '../metrics.ts'

const random = (length: number) => randomBase62(length, randomBytes)
const newKey = () => {
  const account = random(ACCOUNT_TAG_LENGTH)
  const parts = { keyId: random(KEY_ID_LENGTH), accountTag: account, secret: random(KEY_SECRET_LENGTH) }
  return { account, key: formatKey(parts) }
}
const ERRORS = {
  settings: { docsUrl: '', topupUrl: '' },
  config: { current: {} },
  bytes: trackBytesInFlight(LEAST_BYTES_IN_FLIGHT, clientNetwork(false), () => {}),
}
const KNOWN = newKey()
const STRANGER = newKey()

let opened: AsyncDisposableStack
let shedder: LoadShedder
let url: string
let metrics: ReturnType<typeof createMetrics>
beforeEach(async () => {
  opened = new AsyncDisposableStack()
  shedder = opened.use(openLoadShedder())
  metrics = createMetrics({ service: 'edge' })
  const plans = openAccountCache()
  plans.remember(KNOWN.account, 'free')
  const parts = { shedder, metrics: edgeMetrics(metrics), tracer: NO_TRACING }
  const edge = { ...parts, ...ERRORS } as unknown as EdgeContext
  const refuseLate = refuseWhileLate(edge, (request) => namesKnownAccount({ plans }, request))
  const serve: Step = (_request, response) => void response.end('served')
  const fail = (error: unknown) => {
    throw error
  }
  const server = createServer(takeSteps('/', [beginRequest(edge), refuseLate, serve], fail))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  opened.defer(async () => {
    server.closeAllConnections()
    server.close()
  })
})
afterEach(() => opened.disposeAsync())

const send = (key = STRANGER.key, body = '{}') =>
  fetch(url, { method: 'POST', body, headers: { authorization: `Bearer ${key}` } })
const many = (count: number, what: () => void) => {
  for (let i = 0; i < count; i++) what()
}

test('while too many requests are on their way, one more is refused with the time to retry, and served as soon as there is capacity', async () => {
  many(shedder.limit, shedder.enter)
  const refused = await send()
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({
    error: { code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('overloaded') },
  })
  const waitMs = Number(refused.headers.get('retry-after-ms'))
  expect(waitMs).toBeGreaterThanOrEqual(500)
  expect(waitMs).toBeLessThanOrEqual(1_500)
  expect(Number(refused.headers.get('retry-after'))).toBe(Math.ceil(waitMs / 1_000))
  shedder.leave()
  expect(await (await send()).text()).toBe('served')
  expect(metrics.text()).toMatch(/gateway_shed_total\{[^}]*reason="late"[^}]*\} 1\n/)
})

test('a request that finds no capacity waits for it, and those that came before it go first', async () => {
  many(shedder.limit, shedder.enter)
  const served: number[] = []
  const waiting: Promise<unknown>[] = []
  for (const number of [1, 2, 3]) {
    waiting.push(
      send().then(({ status }) => {
        expect(status).toBe(200)
        served.push(number)
      }),
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  for (const request of waiting) {
    shedder.leave()
    await request
  }
  expect(served).toEqual([1, 2, 3])
})

test('a request that waits is refused after three quarters of a second, and sooner if its body is large', async () => {
  many(shedder.limit, shedder.enter)
  const sinceMs = performance.now()
  const refused: string[] = []
  const sendAs = async (name: string, body: string) => {
    expect((await send(STRANGER.key, body)).status).toBe(503)
    refused.push(name)
  }
  await Promise.all([sendAs('small', '{}'), sendAs('large', 'a'.repeat(100_000))])
  expect(refused).toEqual(['large', 'small'])
  expect(performance.now() - sinceMs).toBeGreaterThan(700)
})

test('hundreds that are refused at once all get a response, and do not come back at the same moment', async () => {
  many(shedder.limit, shedder.enter)
  const responses = await Promise.all(Array.from({ length: 400 }, () => send()))
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]))
  expect(new Set(responses.map(({ headers }) => headers.get('retry-after-ms'))).size).toBeGreaterThan(100)
})

test('however many are refused in one turn of the event loop, others have their say in between', async () => {
  many(shedder.limit, shedder.enter)
  const edge = { shedder, metrics: edgeMetrics(createMetrics({ service: 'edge' })), ...ERRORS }
  const refuse = refuseWhileLate(edge, () => false)
  const headers: object = { 'content-length': '100000' }
  const request = { url: '/', headers, complete: true } as StepRequest
  let sentCount = 0
  const response = () =>
    ({
      locals: { measured: { requestId: 'id' } },
      setHeader() {},
      end: () => void sentCount++,
    }) as unknown as StepResponse
  await new Promise(setImmediate)
  for (let sent = 0; sent < 1_000; sent++) void refuse(request, response(), () => {})
  const sentAfterTurn = [sentCount]
  for (let turn = 1; turn < 4; turn++) {
    await new Promise(setImmediate)
    sentAfterTurn.push(sentCount)
  }
  expect(sentAfterTurn).toEqual([REFUSED_AT_ONCE, 2 * REFUSED_AT_ONCE, 3 * REFUSED_AT_ONCE, 1_000])
})

/** So many enter, wait for `waitMs` and leave, each by `end`. */
async function letWait(count: number, waitMs: number, end: (sinceMs: number) => void): Promise<void> {
  const sinceMs = performance.now()
  many(count, shedder.enter)
  shedder.hasCapacity(() => true)
  await new Promise((resolve) => setTimeout(resolve, waitMs))
  many(count, () => {
    shedder.leave()
    end(sinceMs)
  })
}

test('an edge that others on its machine starve refuses nobody while it has little to do', async () => {
  for (let second = 0; second < 4; second++) await letWait(20, 1_000, shedder.arrived)
  many(24, shedder.enter)
  expect(await (await send()).text()).toBe('served')
}, 20_000)

test('callers that the store turns away in time make no edge refuse its own', async () => {
  const atRest = shedder.limit
  shedder.enter()
  for (let turn = 0; turn < 40; turn++) await letWait(50, 200, shedder.turnedAway)
  expect(shedder.limit).toBe(atRest)
}, 20_000)

test('an edge that is late leaves half of its capacity to senders that it has served before', async () => {
  while (shedder.limit > 128) await letWait(shedder.limit, 600, shedder.arrived)
  many(Math.ceil(shedder.limit / 2), shedder.enter)
  const first = await Promise.race([send().then(() => 'the stranger'), send(KNOWN.key).then(() => 'the known one')])
  expect(first).toBe('the known one')
  many(4 * shedder.limit, shedder.enter)
  expect((await send(KNOWN.key)).status).toBe(503)
}, 20_000)

test('when routers come late for everybody, less is taken on; when they are in time again, as much as before', async () => {
  const atRest = shedder.limit
  /** A hundred at a time, each of which takes so long. */
  const goOn = async (waitMs: number, until: () => boolean) => {
    await expect
      .poll(
        async () => {
          const sinceMs = performance.now()
          many(100, shedder.enter)
          shedder.hasCapacity(() => true)
          await new Promise((resolve) => setTimeout(resolve, waitMs))
          many(100, () => {
            shedder.leave()
            shedder.arrived(sinceMs)
          })
          return until()
        },
        { timeout: 15_000, interval: 1 },
      )
      .toBe(true)
  }
  await goOn(400, () => shedder.limit < 128)
  await goOn(5, () => shedder.limit >= atRest)
}, 40_000)

test('an edge without requests sets no timer, and judges again from the next request on', async () => {
  vi.useFakeTimers()
  try {
    using resting = openLoadShedder()
    expect(vi.getTimerCount()).toBe(0)
    resting.hasCapacity(() => true)
    resting.enter()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(vi.getTimerCount()).toBe(1)
    resting.leave()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(vi.getTimerCount()).toBe(0)
    expect(resting.hasCapacity(() => true)).toBe(true)
    expect(vi.getTimerCount()).toBe(1)
  } finally {
    vi.useRealTimers()
  }
})
