import { setTimeout as delay } from 'node:timers/promises'
import { startRedis, type Server } from '@gateway/testing/servers'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRedisAdmission } from '../redis.ts'
import type { Admission } from '../port.ts'
import { AdmissionUnavailableError } from '../unavailable.ts'

/** The bound that callers rely on, plus what a busy machine may add. */
const IN_TIME_MS = 250 + 400
const KEY = { account: 'account', keyHash: 'key' }

let server: Server
beforeAll(async () => {
  server = await startRedis({ own: true })
})
afterAll(() => server[Symbol.asyncDispose]())

interface Outcome {
  error: unknown
  afterMs: number
}

async function outcomeOf(call: Promise<unknown>): Promise<Outcome> {
  const startedAt = performance.now()
  const error: unknown = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  return { error, afterMs: performance.now() - startedAt }
}

/** Every call of the port that asks Redis. */
function allCalls(admission: Admission): Promise<unknown>[] {
  const limits = { requestsPerMinute: 1, tokensPerMinute: 1, requestsPerDay: null, allowance: 1 }
  const ask = { ...KEY, requestId: 'r', planHint: null, planIncludesModel: true, limits }
  const total = { account: 'account', window: '2026-11', settled: 0, version: 0 }
  return [
    admission.admit({ ...ask, usualTokens: 1, worstCharge: 1, leaseMs: 1 }),
    admission.finish({ account: 'account', requestId: 'r', charge: 1, tokens: 1 }),
    admission.renew([{ account: 'account', requestId: 'r' }], 1000),
    admission.authenticate(KEY),
    admission.fill({ account: 'account', version: 1, plan: 'free', overage: false, extra: 0, keys: [] }),
    admission.deactivate({ ...KEY, version: 1 }),
    admission.applyTotal({ ...total, included: [] }),
    admission.warm(total),
    admission.currentWindow(),
  ]
}

async function answersAgain(admission: Admission): Promise<boolean> {
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline) {
    if (!(await outcomeOf(admission.authenticate(KEY))).error) return true
    await delay(20)
  }
  return false
}

test('Redis away fails every call within 250 ms, and is used again when it is back', async () => {
  await using admission = await openRedisAdmission({ url: server.url })
  await server.kill()
  for (const { error, afterMs } of await Promise.all(allCalls(admission).map(outcomeOf))) {
    expect(error).toBeInstanceOf(AdmissionUnavailableError)
    expect(afterMs).toBeLessThan(IN_TIME_MS)
  }
  await server.restart()
  expect(await answersAgain(admission)).toBe(true)
})

test('a call that was under way when Redis died fails, and says why', async () => {
  await using admission = await openRedisAdmission({ url: server.url })
  await server.kill('SIGSTOP')
  const calls = Array.from({ length: 50 }, () => outcomeOf(admission.authenticate(KEY)))
  await server.kill('SIGKILL')
  for (const { error, afterMs } of await Promise.all(calls)) {
    expect(error).toBeInstanceOf(AdmissionUnavailableError)
    expect((error as Error).cause).toBeInstanceOf(Error)
    expect(afterMs).toBeLessThan(IN_TIME_MS)
  }
  await server.restart()
  expect(await answersAgain(admission)).toBe(true)
})

test('a Redis that hangs fails every call within 250 ms, then at once, and is used again when it wakes', async () => {
  await using admission = await openRedisAdmission({ url: server.url })
  await server.kill('SIGSTOP')
  try {
    for (const { error, afterMs } of await Promise.all(allCalls(admission).map(outcomeOf))) {
      expect(error).toBeInstanceOf(AdmissionUnavailableError)
      expect(afterMs).toBeLessThan(IN_TIME_MS)
    }
    // The silent connection is given up; nothing piles up behind it.
    await delay(1500)
    const { error, afterMs } = await outcomeOf(admission.authenticate(KEY))
    expect(error).toBeInstanceOf(AdmissionUnavailableError)
    expect(afterMs).toBeLessThan(100)
  } finally {
    await server.kill('SIGCONT')
  }
  expect(await answersAgain(admission)).toBe(true)
})

test('a process that stood still for longer than it waits for Redis takes the answers that came meanwhile', async () => {
  await using admission = await openRedisAdmission({ url: server.url })
  const calls = Promise.all([admission.authenticate(KEY), admission.currentWindow()])
  standStill(1_500)
  await expect(calls).resolves.toHaveLength(2)
  await expect(admission.authenticate(KEY)).resolves.toBeDefined()
})

/** As a suspended process does, or one that gets no time. */
function standStill(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs)
}

test('a process may start before its Redis', async () => {
  await server.kill()
  await using admission = await openRedisAdmission({ url: server.url })
  const { error } = await outcomeOf(admission.authenticate(KEY))
  expect(error).toBeInstanceOf(AdmissionUnavailableError)
  expect((error as Error).cause).toMatchObject({ code: 'ECONNREFUSED' })
  await server.restart()
  expect(await answersAgain(admission)).toBe(true)
})

test('scripts that Redis has forgotten are sent again', async () => {
  await using admission = await openRedisAdmission({ url: server.url })
  const operator = new Redis(server.url)
  await operator.script('FLUSH')
  expect(await admission.authenticate({ ...KEY, keyHash: 'another' })).toEqual({ kind: 'miss' })
  operator.disconnect()
})

test('a replica is never asked', async () => {
  await using replica = await startRedis({ own: true })
  await using admission = await openRedisAdmission({ url: replica.url })
  await admission.deactivate({ ...KEY, version: 1 })
  const operator = new Redis(replica.url)
  await operator.replicaof('127.0.0.1', 1)
  const { error } = await outcomeOf(admission.deactivate({ ...KEY, version: 2 }))
  expect(error).toBeInstanceOf(AdmissionUnavailableError)
  await delay(200)
  expect((await outcomeOf(admission.authenticate(KEY))).error).toBeInstanceOf(AdmissionUnavailableError)
  await operator.replicaof('NO', 'ONE')
  expect(await answersAgain(admission)).toBe(true)
  operator.disconnect()
})

test('after closing, calls fail and nothing reconnects', async () => {
  const admission = await openRedisAdmission({ url: server.url })
  await admission[Symbol.asyncDispose]()
  expect((await outcomeOf(admission.authenticate(KEY))).error).toBeInstanceOf(AdmissionUnavailableError)
})
