import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { keySlot } from '@gateway/redis/cluster-map'
import { commandRedis } from '@gateway/testing/redis-command'
import { startRedisCluster, type RedisCluster } from '@gateway/servers/redis-cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Admission, AdmissionUnavailableError } from '../port.ts'
import { openRedisAdmission } from '../redis.ts'
import { limitsWith } from '../conformance/limits.ts'

const KEY_HASH = 'a-key-hash'
const LIMITS = limitsWith({ requestsPerMinute: 2 })

let cluster: RedisCluster
let admission: Admission
beforeAll(async () => {
  cluster = await startRedisCluster(3, { replicas: true })
  admission = await openRedisAdmission({ url: cluster.url })
  // Each node comes back to its own slots, however long a test took.
  await cluster.letReplicasTakeOver(false)
})
afterAll(async () => {
  await admission?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

/** Slots are shared equally, in the order of the nodes. */
const nodeOf = (account: string) => Math.floor(keySlot(account) / Math.ceil(16_384 / 3))

function accountOn(node: number): string {
  for (;;) {
    const account = randomUUID().slice(0, 8)
    if (nodeOf(account) === node) return account
  }
}

async function prepare(account: string): Promise<void> {
  const keys = [{ keyHash: KEY_HASH, version: 1, active: true }]
  const { window, epoch } = await admission.currentWindow(account)
  await admission.fill({ account, version: 1, plan: 'free', overage: false, extra: 0, window, epoch, keys })
  await admission.warm({ account, window, settled: 0, version: 0, epoch })
}

const presentEpoch = async (account: string) => (await admission.currentWindow(account)).epoch

const admit = (account: string, keyHash = KEY_HASH, by = admission) =>
  by.admit({
    ...{ requestId: randomUUID(), account, keyHash, planHint: 'free', planIncludesModel: true },
    ...{ limits: LIMITS, usualTokens: 1, worstCharge: 1, leaseMs: 60_000 },
  })
const kinds = async (accounts: string[]) =>
  (await Promise.all(accounts.map((account) => admit(account)))).map(({ kind }) => kind)

const until = (isSo: () => Promise<boolean>) => expect.poll(isSo, { interval: 20 }).toBe(true)

test('each account lives on its node, and limits hold on all of them', async () => {
  const accounts = [0, 1, 2].map(accountOn)
  for (const account of accounts) await prepare(account)
  expect(new Set(await Promise.all(accounts.map((account) => presentEpoch(account))))).toHaveLength(3)
  expect(await kinds(accounts)).toEqual(['allow', 'allow', 'allow'])
  expect(await kinds(accounts)).toEqual(['allow', 'allow', 'allow'])
  expect(await kinds(accounts)).toEqual(['deny', 'deny', 'deny'])
  expect((await admission.currentWindow()).window).toMatch(/^\d{4}-\d{2}$/)
})

test('a node that dies makes only its own accounts unavailable, in bounded time, and is never silently old afterwards', async () => {
  const accounts = [0, 1, 2].map(accountOn)
  for (const account of accounts) await prepare(account)
  const before = await presentEpoch(accounts[1]!)
  await cluster.nodes[1]!.kill()

  // Nobody starts it again before the calls are over.
  const outcomes = await Promise.allSettled(accounts.map((account) => admit(account)))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(outcomes[1]).toMatchObject({ reason: expect.any(AdmissionUnavailableError) as unknown })

  await cluster.nodes[1]!.restart()
  await until(() =>
    presentEpoch(accounts[1]!).then(
      (epoch) => epoch !== before,
      () => false,
    ),
  )
  await until(async () => (await admit(accounts[1]!).catch(() => ({ kind: 'away' }))).kind === 'miss')
  await prepare(accounts[1]!)
  expect((await admit(accounts[1]!)).kind).toBe('allow')
})

test('a slot that moves to another node is found there, and its state is requested again', async () => {
  const account = accountOn(2)
  await prepare(account)
  expect((await admit(account)).kind).toBe('allow')
  await admission.deactivate({ account, keyHash: 'another', version: 2 })
  await cluster.moveSlot(keySlot(account), { from: 2, to: 0 })

  expect((await admit(account)).kind).toBe('miss')
  await until(() => prepare(account).then(...always))
  expect((await admit(account)).kind).toBe('allow')
  expect(await admission.authenticate({ account, keyHash: 'another' })).toEqual({ kind: 'deny' })
})

test('a slot on its way to another node does not stop its accounts, and those beside it notice nothing', async () => {
  const [account, beside] = [accountOn(0), accountOn(0)]
  await prepare(account)
  await prepare(beside)
  expect((await admit(account)).kind).toBe('allow')
  await using longTimeout = await openRedisAdmission({ url: cluster.url, timeoutMs: 10_000 })
  const move = await cluster.beginMove(keySlot(account), { from: 0, to: 1 })
  await move.moveKeys(/:(use|log)$/)
  const waiting = admit(account, KEY_HASH, longTimeout)
  expect((await admit(beside)).kind).toBe('allow')
  expect(admission.partOf(account)).toBe(admission.partOf(beside))
  await delay(50)
  await move.moveKeys()
  await move.finish()
  expect((await waiting).kind).toBe('miss')
  await until(() => prepare(account).then(...always))
  expect((await admit(account)).kind).toBe('allow')
})

test('a replica that takes over is never silently old: it requests the state that it missed', async () => {
  const account = accountOn(2)
  await prepare(account)
  expect((await admit(account)).kind).toBe('allow')
  const before = await presentEpoch(account)
  // From here on, writes reach the primary only.
  await cluster.replicas[2]!.kill('SIGSTOP')
  await commandRedis(cluster.nodes[2]!.url, 'CLIENT', 'KILL', 'TYPE', 'replica')
  await admission.deactivate({ account, keyHash: KEY_HASH, version: 2 })
  await admission.applyTotal({ account, window: await windowNow(account), settled: 1e12, version: 9, included: [] })
  expect((await admit(account)).kind).toBe('deny')
  await cluster.nodes[2]!.kill()
  await cluster.replicas[2]!.kill('SIGCONT')
  await cluster.letReplicasTakeOver(true)

  await until(async () => (await presentEpoch(account).catch(() => before)) !== before)
  expect((await admit(account)).kind).toBe('miss')
  const dead = [{ keyHash: KEY_HASH, version: 2, active: false }]
  await admission.fill({ account, version: 2, plan: 'free', overage: false, extra: 0, keys: dead })
  expect(await admit(account)).toEqual({ kind: 'deny', reason: 'key' })
  const other = [{ keyHash: 'the-next-key', version: 3, active: true }]
  await admission.fill({ account, version: 3, plan: 'free', overage: false, extra: 0, keys: other })
  expect((await admit(account, 'the-next-key')).kind).toBe('cold')
  await cluster.nodes[2]!.restart()
})

const windowNow = async (account: string) => (await admission.currentWindow(account)).window
const always = [() => true, () => false] as const
