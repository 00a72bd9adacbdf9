import { setTimeout as delay } from 'node:timers/promises'
import { includeParts } from '@gateway/redis/script'
import { startRedis, type Server } from '@gateway/servers/start'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  countAllowed,
  HOUR_MS,
  KEY,
  knownAccount,
  MINUTE_MS,
  newAccount,
  SECOND_MS,
  verdict,
  waitOf,
} from '../conformance/stage.ts'
import { openRedisAdmission } from '../redis.ts'
import { accountKeys, LUA } from './scripts.ts'
import { limitsWith } from '../conformance/limits.ts'

let server: Server
let operator: Redis
beforeAll(async () => {
  server = await startRedis({ own: true })
  operator = new Redis(server.url)
})
afterAll(async () => {
  operator.disconnect()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => operator.flushall())

const open = (options: { now?: () => number }) => openRedisAdmission({ url: server.url, timeoutMs: 5_000, ...options })

async function timesToLive(account: string): Promise<Record<string, number>> {
  const keys = await operator.keys('*')
  const entries = await Promise.all(keys.map(async (key): Promise<[string, number]> => [key, await operator.pttl(key)]))
  return Object.fromEntries(entries.map(([key, ttlMs]) => [key.replace(`adm:{${account}}:`, ''), ttlMs]))
}

test('no call about an unknown account leaves anything behind', async () => {
  await using stage = await newAccount(open)
  const { account } = stage
  await stage.admit()
  await stage.finish('unheard-of', 5)
  await stage.admission.renew([{ account, requestId: 'unheard-of' }], 1000)
  await stage.admission.authenticate({ account, keyHash: KEY })
  await stage.admission.inspect(account)
  await stage.admission.recount(account)
  expect(await operator.keys('*')).toEqual([])
})

test('a dead or unknown key changes nothing that is held of its account, also when a lease has run out meanwhile', async () => {
  await using stage = await knownAccount(open)
  const { account, admission } = stage
  await admission.deactivate({ account, keyHash: 'dead', version: 1 })
  await stage.admit({ requestId: 'abandoned', worstCharge: 20, leaseMs: SECOND_MS })
  stage.clock.advance(HOUR_MS)
  const contents = async () => {
    const keys = (await operator.keys('*')).toSorted()
    return Promise.all(keys.map(async (key) => [key, await operator.dumpBuffer(key)]))
  }
  const before = await contents()
  for (const keyHash of ['dead', 'made up']) {
    await stage.admit({ keyHash })
    await stage.admit({ keyHash, takes: 'nothing' })
    await stage.admit({ keyHash, takes: 'request' })
    await admission.authenticate({ account, keyHash })
  }
  expect(await contents()).toEqual(before)
})

test('sums that went wrong, and a request without a lease, are seen and put right by a recount', async () => {
  await using stage = await knownAccount(open)
  await stage.admit({ requestId: 'runs', worstCharge: 70 })
  await stage.admit({ requestId: 'left', worstCharge: 20 })
  const [, use = '', leases = ''] = accountKeys(stage.account)
  const spoil = `local s = cmsgpack.unpack(redis.call('hget', KEYS[1], 'state'))
    s[6], s[7] = s[6] + 1000, s[7] + 5
    redis.call('hset', KEYS[1], 'state', cmsgpack.pack(s))`
  await operator.eval(spoil, 1, use)
  await operator.zrem(leases, 'left')
  const { inspect, recount } = stage.admission
  const held = await inspect(stage.account)
  expect(held).toMatchObject({ running: 1_090, ended: 5 })
  expect(held.requests).toContainEqual({ requestId: 'left', state: 'running', amount: 20, lapsed: true, keyId: null })
  await recount(stage.account)
  const requests = [{ requestId: 'runs', state: 'running', amount: 70, lapsed: false, keyId: null }]
  expect(await inspect(stage.account)).toMatchObject({ running: 70, ended: 0, requests })
})

test('everything about an account has its time to go: facts after a day, use a day after its month', async () => {
  await using stage = await knownAccount(open)
  await stage.admit({ requestId: 'paid' })
  await stage.finish('paid', 10)
  await stage.settle(10, 1, ['paid'])
  await stage.admission.deactivate({ account: stage.account, keyHash: 'dead', version: 1 })
  await stage.admit()
  const kept = await timesToLive(stage.account)
  expect(Object.keys(kept).sort()).toEqual(['account', 'leases', 'log', 'use'])
  expect(kept['log']).toBeLessThanOrEqual(2 * MINUTE_MS)
  expect(kept['account']).toBeLessThanOrEqual(24 * HOUR_MS)
  for (const key of ['use', 'leases']) {
    expect(kept[key]).toBeLessThanOrEqual(36 * HOUR_MS)
    expect(kept[key]).toBeGreaterThan(35 * HOUR_MS)
  }
})

test('a request that is over is deleted in its time, and leaves nothing behind', async () => {
  await using stage = await knownAccount(open)
  const [, use = '', leases = ''] = accountKeys(stage.account)
  const records = async () => (await operator.hkeys(use)).filter((field) => field.startsWith('request:')).toSorted()
  await stage.admit({ requestId: 'read' })
  await stage.finish('read', 10)
  await stage.settle(10, 1, [{ requestId: 'read', tokens: 100 }])
  expect([await records(), await operator.exists(leases)]).toEqual([[], 0])
  await stage.admit({ requestId: 'ended' })
  await stage.finish('ended', 10)
  await stage.settle(20, 2, [{ requestId: 'ended', tokens: 90, mayChange: true }])
  await stage.admit({ requestId: 'lapsed', leaseMs: SECOND_MS })
  await stage.admit({ requestId: 'failed' })
  await stage.finish('failed', 0, 0)
  expect(await records()).toEqual(['request:ended', 'request:failed', 'request:lapsed'])
  expect((await timesToLive(stage.account))['leases']).toBeGreaterThan(35 * HOUR_MS)
  const touchAfter = async (ms: number) => {
    stage.clock.advance(ms)
    await stage.admission.renew([{ account: stage.account, requestId: 'none' }], 1)
    return records()
  }
  expect(await touchAfter(10 * MINUTE_MS)).toEqual(['request:lapsed'])
  expect(await touchAfter(50 * MINUTE_MS)).toEqual(['request:lapsed'])
  expect(await touchAfter(SECOND_MS)).toEqual([])
  expect([await operator.exists(leases), stage.lapsed]).toEqual([0, 1])
})

test('records of the former version are read: the tokens of an ended one are not known', async () => {
  await using stage = await knownAccount(open, { tokensPerMinute: 10_000 })
  const [, use = ''] = accountKeys(stage.account)
  const left = async () => {
    const decision = await stage.admit({ usualTokens: 0, worstCharge: 0 })
    return decision.kind === 'allow' && [decision.quotaStatus.used, decision.quotaStatus.tokens.remaining]
  }
  for (const requestId of ['ended', 'running']) await stage.admit({ requestId, usualTokens: 500 })
  await stage.finish('ended', 30, 700)
  await operator.hset(use, 'request:ended', 'ended 2026-11 30')
  await operator.hset(use, 'request:running', 'running 2026-11 100 500')
  expect(await left()).toEqual([30, 8_800])
  const reported = ['ended', 'running'].map((requestId) => ({ requestId, tokens: 1_000, mayChange: true }))
  await stage.settle(40, 1, reported)
  expect(await left()).toEqual([40, 8_300])
})

test('a debt of tokens is remembered until the bucket is full again', async () => {
  await using stage = await knownAccount(open, { tokensPerMinute: 1 })
  await stage.admit({ usualTokens: 60 * 72, worstCharge: 0 })
  expect((await timesToLive(stage.account))['use']).toBeGreaterThan(72 * HOUR_MS - SECOND_MS)
})

test('an account that rotates its key all day keeps a bounded number of dead ones', async () => {
  await using stage = await knownAccount(open)
  const [accountKey] = accountKeys(stage.account) as [string]
  for (let day = 0; day < 5; day++) {
    for (let version = 0; version < 80; version++) {
      await stage.admission.deactivate({ account: stage.account, keyHash: `key-${day}-${version}`, version })
    }
    expect(await operator.hlen(accountKey)).toBeLessThan(300)
    stage.clock.advance(25 * HOUR_MS)
  }
})

test("the log keeps a minute's admissions, and no more", async () => {
  await using stage = await knownAccount(open)
  const log = accountKeys(stage.account).at(-1)!
  await stage.admitAtOnce(200)
  expect(await operator.zcard(log)).toBe(200)
  stage.clock.advance(MINUTE_MS)
  await stage.admit()
  expect(await operator.zcard(log)).toBe(1)
})

test('months begin and end in Lua when they do everywhere else', async () => {
  const clock = includeParts(LUA, 'clock')
  for (let month = 0; month < 12 * 130; month++) {
    const begins = Date.UTC(1999, month, 1)
    for (const nowMs of [begins - 1, begins]) {
      const reported = await operator.eval(
        `${clock}\nreturn { WINDOW, WINDOW_RESETS_MS }`,
        4,
        'a',
        'u',
        'l',
        'o',
        '',
        nowMs,
      )
      const date = new Date(nowMs)
      const next = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
      expect(reported).toEqual([date.toISOString().slice(0, 7), next])
    }
  }
})

test('exactly 3 of 500 simultaneous requests pass a limit of 3 per minute, from five processes too', async () => {
  await using stage = await knownAccount(open)
  const now = () => stage.clock.nowMs
  const edges = await Promise.all(Array.from({ length: 5 }, () => open({ now })))
  const limits = limitsWith({ requestsPerMinute: 3 })
  const request = { account: stage.account, keyHash: KEY, planHint: 'free', planIncludesModel: true, limits }
  const decisions = await Promise.all(
    Array.from({ length: 500 }, (_, index) =>
      edges[index % 5]!.admit({ ...request, requestId: `r-${index}`, usualTokens: 1, worstCharge: 1, leaseMs: 30_000 }),
    ),
  )
  expect(countAllowed(decisions)).toBe(3)
  await Promise.all(edges.map((edge) => edge[Symbol.asyncDispose]()))
})

test("on Redis' own clock, waiting for `retryAfterMs` is enough, and a lease lapses in its time", async () => {
  await using admission = await open({})
  const account = 'real-clock'
  const keys = [{ keyHash: KEY, version: 1, active: true }]
  await admission.fill({ account, version: 1, plan: 'free', overage: false, extra: 0, keys })
  const { window } = await admission.currentWindow()
  await admission.warm({ account, window, settled: 0, version: 0 })
  const admit = (requestId: string) =>
    admission.admit({
      requestId,
      account,
      keyHash: KEY,
      planHint: 'free',
      planIncludesModel: true,
      limits: limitsWith({ tokensPerMinute: 6_000, allowance: 100 }),
      usualTokens: 5_980,
      worstCharge: 60,
      leaseMs: SECOND_MS,
    })
  await admit('first')
  await admission.finish({ account, requestId: 'first', charge: 0, tokens: 60 })
  const refused = await admit('second')
  expect(verdict(refused)).toBe('tokens')
  await delay(waitOf(refused))
  expect(verdict(await admit('second'))).toBe('allow')
  expect(await admission.renew([{ account, requestId: 'second' }], SECOND_MS)).toEqual([])
  await delay(SECOND_MS)
  expect(await admission.renew([{ account, requestId: 'second' }], SECOND_MS)).toEqual(['second'])
})
