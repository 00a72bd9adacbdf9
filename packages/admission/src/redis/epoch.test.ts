import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandRedis } from '@gateway/testing/redis-command'
import { startRedis, type Server } from '@gateway/servers/start'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { KEY, knownAccount, verdict, type Stage } from '../conformance/stage.ts'
import { openRedisAdmission } from '../redis.ts'
import { AdmissionUnavailableError } from '../port.ts'

let directory: string
let server: Server
let stage: Stage

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gateway-epoch-'))
  server = await startRedis({ own: true, directory: join(directory, 'data') })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})
beforeEach(async () => {
  stage = await knownAccount((options) => openRedisAdmission({ url: server.url, ...options }), { allowance: 1000 })
})
afterEach(() => stage[Symbol.asyncDispose]())

/** Everything that happens in `lost` is forgotten by Redis, as by a crash before its file was written. */
async function forgetting(lost: () => Promise<void>): Promise<void> {
  const before = await presentEpoch()
  await written()
  const snapshot = join(directory, randomUUID())
  await cp(join(directory, 'data'), snapshot, { recursive: true })
  await lost()
  await server.kill()
  await rm(join(directory, 'data'), { recursive: true })
  await cp(snapshot, join(directory, 'data'), { recursive: true })
  await restart(before)
}

/** The file misses no acknowledged write. */
const written = () =>
  expect.poll(() => commandRedis(server.url, 'INFO', 'persistence')).toMatch(/^aof_buffer_length:0\r$/m)

const presentEpoch = async () => (await stage.admission.currentWindow(stage.account)).epoch

/** On a busy machine the end of the old connection is noticed a moment after the restart. */
async function restart(before: string | undefined): Promise<void> {
  await server.restart()
  await expect.poll(presentEpoch, { interval: 10 }).not.toBe(before)
}

test('a restarted Redis with an old snapshot is never silently old', async () => {
  await forgetting(() => stage.admission.deactivate({ account: stage.account, keyHash: KEY, version: 2 }))
  expect(await stage.admit()).toEqual({ kind: 'miss' })
  await stage.fill({ version: 2, keys: [{ keyHash: KEY, version: 2, active: false }] })
  expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
})

test('filling one key after a restart does not bring back another that died meanwhile', async () => {
  await stage.fill({ keys: [{ keyHash: 'old', version: 1, active: true }] })
  await forgetting(() => stage.admission.deactivate({ account: stage.account, keyHash: 'old', version: 2 }))
  await stage.fill()
  await stage.warm()
  expect(await stage.admit({ keyHash: 'old' })).toEqual({ kind: 'miss' })
  expect(verdict(await stage.admit())).toBe('allow')
})

test('a key that was dead before a restart is dead after it, before anyone fills', async () => {
  await stage.admission.deactivate({ account: stage.account, keyHash: KEY, version: 2 })
  const before = await presentEpoch()
  await written()
  await server.kill()
  await restart(before)
  expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
})

test('a total older than the ledger is requested again', async () => {
  await forgetting(() => stage.settle(900, 4, []))
  await stage.fill()
  expect(await stage.used()).toBeNull()
  expect(await stage.admit()).toEqual({ kind: 'cold' })
  await stage.warm(900, 4)
  expect(await stage.used()).toBe(900)
})

test('a charge that the ledger included meanwhile is not counted twice for ever', async () => {
  await stage.admit({ requestId: 'paid', worstCharge: 700 })
  await stage.finish('paid', 600)
  await forgetting(() => stage.settle(600, 4, ['paid']))
  await stage.fill()
  await stage.warm(600, 4)
  expect(await stage.used()).toBe(600)
  expect(verdict(await stage.admit())).toBe('allow')
})

test('a request that runs across a restart stays held', async () => {
  await stage.admit({ requestId: 'running', worstCharge: 1000 })
  await forgetting(async () => {})
  await stage.fill()
  await stage.warm()
  expect(verdict(await stage.admit())).toBe('pending')
  await stage.finish('running', 400)
  expect(await stage.used()).toBe(400)
})

test('a request that runs across a flush is held again when its edge renews it', async () => {
  await stage.admit({ requestId: 'running', worstCharge: 1000 })
  await flush()
  await stage.fill()
  await stage.warm()
  const lease = { account: stage.account, requestId: 'running', worstCharge: 1000, window: '2026-11' }
  expect(await stage.admission.renew([lease], 30_000)).toEqual([])
  expect(verdict(await stage.admit())).toBe('pending')
})

test('a flushed store requests a fill again', async () => {
  await flush()
  expect(await stage.admit()).toEqual({ kind: 'miss' })
  await stage.fill()
  expect(await stage.admit()).toEqual({ kind: 'cold' })
  await stage.warm()
  expect(verdict(await stage.admit())).toBe('allow')
})

test('facts read before a restart are refused after it', async () => {
  const { epoch, window } = await stage.admission.currentWindow()
  expect(await presentEpoch()).toBe(epoch)
  await server.kill()
  await restart(epoch)
  await expect(stage.fill({ epoch })).rejects.toBeInstanceOf(AdmissionUnavailableError)
  const total = { account: stage.account, window, settled: 0, version: 0, epoch }
  await expect(stage.admission.warm(total)).rejects.toBeInstanceOf(AdmissionUnavailableError)
  expect(await stage.admit()).toEqual({ kind: 'miss' })
})

test('a promotion of the same process is a new incarnation', async () => {
  const before = await presentEpoch()
  const operator = new Redis(server.url)
  await operator.replicaof('127.0.0.1', 1)
  await expect(stage.fill()).rejects.toBeInstanceOf(AdmissionUnavailableError)
  await operator.replicaof('NO', 'ONE')
  operator.disconnect()
  await expect.poll(presentEpoch, { interval: 10 }).not.toBe(before)
  expect(await stage.admit()).toEqual({ kind: 'miss' })
})

async function flush(): Promise<void> {
  const operator = new Redis(server.url)
  await operator.flushall()
  operator.disconnect()
}
