/**
 * Admission of the last release beside this one's, on one Redis. Its edges refuse the keys of a project, and none of its processes
 * changes a sum of the project.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Admission } from '@gateway/admission/port'
import { openRedisAdmission } from '@gateway/admission/redis'
import { startRedis, type Server } from '@gateway/servers/start'
import { commandRedis } from '@gateway/testing/redis-command'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { unpackLastRelease } from './skew/versions.ts'

const LIMITS = { requestsPerMinute: 100, tokensPerMinute: 10_000, requestsPerDay: null, allowance: 1_000 }
const KEY = {
  ...{ keyHash: 'a-key-hash', version: 1, active: true },
  limits: {
    ...{ keyId: 'key00001', expiresAtMs: null, monthly: 500, requestsPerMinute: 5, tokensPerMinute: 5_000 },
    policy: '',
  },
}
const PROJECT = {
  ...{ hardLimit: 900, policy: '', policyVersion: 1 },
  modelLimits: [{ model: 'a-model', requestsPerMinute: 4, tokensPerMinute: 5_000, requestsPerDay: 50 }],
}

let folder: string
let server: Server
let present: Admission
let former: Admission
let account = 'project0'
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-limits-skew-'))
  server = await startRedis({ own: true, directory: join(folder, 'redis') })
  const release = await unpackLastRelease(join(folder, 'former'))
  const adapter = pathToFileURL(join(release.folder, 'packages/admission/src/redis.js')).href
  const { openRedisAdmission: openFormer } = (await import(adapter)) as {
    openRedisAdmission: typeof openRedisAdmission
  }
  present = await openRedisAdmission({ url: server.url, timeoutMs: 5_000 })
  former = await openFormer({ url: server.url, timeoutMs: 5_000 })
})
afterAll(async () => {
  await present?.[Symbol.asyncDispose]()
  await former?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})
beforeEach(async () => {
  account = `project${Number(account.slice(-1)) + 1}`
  await fillPresent()
  const { window } = await present.currentWindow(account)
  const keys = [{ keyId: 'key00001', settled: 0 }]
  await present.warm({ account, window, settled: 0, version: 0, keys })
  await present.admit(request('runs'))
})

const fillPresent = () =>
  present.fill({ account, version: 1, plan: 'pro', overage: false, extra: 0, project: PROJECT, keys: [KEY] })

const request = (requestId: string) => ({
  ...{ requestId, account, keyHash: KEY.keyHash, planHint: 'pro', policyHint: '1.1.key00001', model: 'a-model' },
  ...{ planIncludesModel: true, limits: LIMITS, usualTokens: 10, worstCharge: 100, leaseMs: 600_000 },
})

test('an edge of the last release refuses a key of a project clearly', async () => {
  expect(await former.admit(request('former'))).toEqual({ kind: 'deny', reason: 'key' })
  expect(await former.authenticate({ account, keyHash: KEY.keyHash })).toEqual({ kind: 'deny' })
  expect(await present.admit(request('next'))).toMatchObject({ kind: 'allow' })
})

test('no process of the last release changes a sum of a project', async () => {
  const held = () => present.inspect(account)
  const before = await held()
  expect(before).toMatchObject({ running: 100, keyTotals: [{ running: 100, ended: 0, settled: 0 }] })
  const { window } = await present.currentWindow(account)
  const total = { account, window, settled: 70, version: 9 }
  const calls = [
    () => former.finish({ account, requestId: 'runs', charge: 70, tokens: 5 }),
    () => former.renew([{ account, requestId: 'other', worstCharge: 70 }], 60_000),
    () => former.applyTotal({ ...total, included: [{ requestId: 'runs' }] }),
    () => former.warm(total),
    () => former.recount(account),
  ]
  for (const call of calls) await expect(call()).rejects.toThrow(/newer version/)
  expect(await held()).toEqual(before)
  await present.finish({ account, requestId: 'runs', charge: 70, tokens: 5 })
  expect(await held()).toMatchObject({ running: 0, ended: 70, keyTotals: [{ running: 0, ended: 70 }] })
})

test('a revocation by the last release holds here', async () => {
  await former.deactivate({ account, keyHash: KEY.keyHash, version: 2 })
  expect(await present.admit(request('next'))).toEqual({ kind: 'deny', reason: 'key' })
})

test('facts that the last release writes after a restart of Redis bring no key of a project back', async () => {
  await expect.poll(() => commandRedis(server.url, 'INFO', 'persistence')).toMatch(/^aof_buffer_length:0\r$/m)
  const epochOf = (store: Admission) => store.currentWindow(account).then(({ epoch }) => epoch)
  const before = await epochOf(present)
  await server.kill()
  await server.restart()
  for (const store of [present, former]) await expect.poll(() => epochOf(store).catch(() => before)).not.toBe(before)
  await former.fill({ account, version: 5, plan: 'pro', overage: false, extra: 0, keys: [] })
  expect(await present.admit(request('next'))).toEqual({ kind: 'miss' })
  await fillPresent()
})
