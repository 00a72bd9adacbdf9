/**
 * The whole gateway on a Redis Cluster of three nodes, under load, while one of them is away and while slots move. The
 * accounts of the other nodes notice nothing. Those of the lost node are served as when Redis is away, and everything
 * comes back.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus } from '@gateway/bus/port'
import { parseKey } from '@gateway/contracts/api-key'
import { rpcClient } from '@gateway/rpc/client'
import { keySlot } from '../packages/redis/src/cluster-map.ts'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { signIn } from '@gateway/stand-ins/sign-in'
import { scrapeCluster } from '@gateway/cluster/scrape'
import { startRedisCluster, type RedisCluster } from '@gateway/servers/redis-cluster'

const NODES = 3
/** An edge gives the store 250 ms, and the services behind it five seconds. */
const NOTHING_LASTS_MS = 20_000
/** Of an account that has nothing to do with the trouble, on a busy machine. */
const UNNOTICED_MS = 4_500

const RATE = 20
const PLANS = [
  { slug: 'guest-device', limit: 1_000, rpm: 10, tpm: 1_000, perDay: 10, guest: true },
  { slug: 'free', limit: 1e9, rpm: 1_000_000, tpm: 1e9, default: true },
  { slug: 'tiny', limit: 30, rpm: 1_000_000, tpm: 1e9 },
  { slug: 'slow', limit: 1e9, rpm: RATE, tpm: 1e9 },
]

let redis: RedisCluster
let cluster: Cluster
let folder: string
let bus: Bus

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-redis-cluster-'))
  const config = join(folder, 'gateway.yaml')
  await writeFile(config, JSON.stringify({ plans: PLANS }))
  redis = await startRedisCluster(NODES)
  cluster = await startCluster({
    ...{ edges: 2, routers: 1, dataDir: folder, ownServers: true },
    environment: { GATEWAY_CONFIG: config, LOG_LEVEL: 'warn' },
    prepare: (plan) => ({ ...plan, environment: { ...plan.environment, REDIS_URL: redis.url } }),
  })
  bus = await openNatsBus({ url: cluster.servers.nats.url, name: 'test' })
})

afterAll(async () => {
  await bus?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
  await redis?.[Symbol.asyncDispose]()
  if (folder) await rm(folder, { recursive: true, force: true })
})

test('a node that dies takes only its own accounts along, which are served all the same, and comes back', async () => {
  const [near, lost, far, dead, spent, slow] = await Promise.all([0, 1, 2, 1, 1, 1].map(newKeyOn))
  await setPlan(spent!, 'tiny')
  await setPlan(slow!, 'slow')
  for (const edge of cluster.edges) {
    for (const { key } of [near!, lost!, far!, dead!]) expect((await sendRequest(edge, key)).status).toBe(200)
  }
  await until(async () => (await sendRequest(cluster.edges[0]!, spent!.key)).status === 402)
  expect((await manage(dead!.token, 'revoke', dead!.key)).status).toBe(200)

  const others = keepRequesting({ near: near!.key, far: far!.key })
  const its = keepRequesting({ lost: lost!.key, dead: dead!.key, spent: spent!.key })
  await sleep(500)
  await redis.nodes[1]!.kill()
  await sleep(2_000)
  // Its accounts as when Redis is away: on each edge's share of the rates.
  const replies = await Promise.all(
    Array.from({ length: 2 * RATE }, () => cluster.edges.map((edge) => sendRequest(edge, slow!.key))).flat(),
  )
  const admitted = countByStatus(replies)
  expect(admitted[200]).toBeLessThanOrEqual(RATE)
  expect(admitted[200]).toBeGreaterThanOrEqual(RATE / 2)
  expect((await manage(lost!.token, 'revoke', lost!.key)).status).toBe(503)

  const seen = await its.stop()
  expect(countByStatus(seen.dead)).toEqual({ 401: seen.dead.length })
  expect(countByStatus(seen.spent)).toEqual({ 402: seen.spent.length })
  // The revoke that was not confirmed is stored all the same.
  expect(Object.keys(countByStatus(seen.lost)).filter((status) => status !== '401')).toEqual(['200'])
  expect(slowest([...seen.dead, ...seen.spent, ...seen.lost])).toBeLessThan(NOTHING_LASTS_MS)

  // The accounts of the others are decided where they lie, as ever.
  const decidedAlone = await countDecidedAlone()
  await sleep(1_500)
  expect(await countDecidedAlone()).toBe(decidedAlone)
  await redis.nodes[1]!.restart()
  await until(async () => (await manage(lost!.token, 'revoke', lost!.key)).status === 200)
  const { near: nearby, far: distant } = await others.stop()
  expect(countByStatus([...nearby, ...distant])).toEqual({ 200: nearby.length + distant.length })
  expect(Math.min(nearby.length, distant.length)).toBeGreaterThan(20)
  expect(slowest([...nearby, ...distant])).toBeLessThan(UNNOTICED_MS)

  await until(async () => {
    const before = await countDecidedAlone()
    for (const edge of cluster.edges) expect((await sendRequest(edge, slow!.key)).status).not.toBe(503)
    return (await countDecidedAlone()) === before
  })
  for (const edge of cluster.edges) {
    expect((await sendRequest(edge, dead!.key)).status).toBe(401)
    expect((await sendRequest(edge, lost!.key)).status).toBe(401)
    expect((await sendRequest(edge, spent!.key)).status).toBe(402)
  }
})

test('the edges follow slots that move under load: a revoked key, a spent allowance and an exceeded rate stay so, and nobody else notices', async () => {
  const [live, beside, dead, spent, slow] = await Promise.all([0, 0, 0, 0, 0].map(newKeyOn))
  await setPlan(spent!, 'tiny')
  await setPlan(slow!, 'slow')
  for (const { key } of [live!, beside!, dead!]) expect((await sendRequest(cluster.edges[1]!, key)).status).toBe(200)
  await until(async () => (await sendRequest(cluster.edges[0]!, spent!.key)).status === 402)
  expect((await manage(dead!.token, 'revoke', dead!.key)).status).toBe(200)
  const admitted = await Promise.all(
    Array.from({ length: 2 * RATE }, (_, index) => sendRequest(cluster.edges[index % 2]!, slow!.key)),
  )
  expect(countByStatus(admitted)[200]).toBe(RATE)

  const load = keepRequesting({
    live: live!.key,
    beside: beside!.key,
    dead: dead!.key,
    spent: spent!.key,
    slow: slow!.key,
  })
  await sleep(300)
  for (const to of [2, 1]) {
    const from = to === 2 ? 0 : 2
    for (const { slot } of [live!, dead!, spent!, slow!]) {
      const move = await redis.beginMove(slot, { from, to })
      await move.moveKeys(/:(use|log)$/)
      await sleep(100)
      await move.moveKeys()
      await move.finish()
    }
    await sleep(500)
  }
  const seen = await load.stop()
  for (const name of ['live', 'beside'] as const) expect(countByStatus(seen[name])).toEqual({ 200: seen[name].length })
  expect(countByStatus(seen.dead)).toEqual({ 401: seen.dead.length })
  expect(countByStatus(seen.spent)).toEqual({ 402: seen.spent.length })
  expect(countByStatus(seen.slow)).toEqual({ 429: seen.slow.length })
  expect(slowest(seen.beside)).toBeLessThan(UNNOTICED_MS)
  expect(slowest(Object.values(seen).flat())).toBeLessThan(NOTHING_LASTS_MS)
})

interface Owner {
  token: string
  key: string
  slot: number
}

let owners = 0
/** Slots are shared equally, in the order of the nodes. */
async function newKeyOn(node: number): Promise<Owner> {
  for (;;) {
    const token = await signIn(cluster.issuer, {
      name: `owner-${++owners}`,
      redirectUri: `${cluster.edges[0]}/console`,
    })
    const key = String((await manage(token, 'mint')).body['key'])
    const slot = keySlot(parseKey(key)!.accountTag)
    if (Math.floor(slot / Math.ceil(16_384 / NODES)) === node) return { token, key, slot }
  }
}

async function manage(token: string, action: 'mint' | 'revoke', key?: string) {
  const response = await fetch(`${cluster.edges[0]}/v1/keys/developer${action === 'mint' ? '' : `/${action}`}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
    signal: AbortSignal.timeout(60_000),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function setPlan({ key }: Owner, plan: string): Promise<void> {
  const question = { subject: parseKey(key)!.accountTag, plan }
  expect(await rpcClient('ctl', bus).request('keysSetPlan', question, { timeoutMs: 10_000 })).toMatchObject({
    kind: 'account',
  })
}

async function countDecidedAlone(): Promise<number> {
  const { samples } = await scrapeCluster(cluster)
  return samples
    .filter(({ name }) => name === 'gateway_admission_without_store_total')
    .reduce((sum, { value }) => sum + value, 0)
}

interface Reply {
  status: number
  tookMs: number
}

async function sendRequest(edge: string, key: string): Promise<Reply> {
  const beganAtMs = performance.now()
  const response = await fetch(`${edge}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-instant', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 20 }),
    signal: AbortSignal.timeout(60_000),
  })
  await response.arrayBuffer()
  return { status: response.status, tookMs: performance.now() - beganAtMs }
}

/** Sends requests to both edges with every key, with short breaks, until it is stopped. */
function keepRequesting<Name extends string>(keys: Record<Name, string>) {
  const names = Object.keys(keys) as Name[]
  const seen = Object.fromEntries(names.map((name) => [name, [] as Reply[]])) as Record<Name, Reply[]>
  const over = new AbortController()
  const loops = cluster.edges.flatMap((edge) =>
    names.map(async (name) => {
      while (!over.signal.aborted) {
        seen[name].push(await sendRequest(edge, keys[name]))
        await sleep(10)
      }
    }),
  )
  return {
    async stop(): Promise<Record<Name, Reply[]>> {
      over.abort()
      await Promise.all(loops)
      return seen
    },
  }
}

const slowest = (replies: Reply[]): number => Math.max(...replies.map(({ tookMs }) => tookMs))

function countByStatus(replies: Reply[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadlineAtMs = performance.now() + 30_000
  while (!(await isSo())) {
    if (performance.now() > deadlineAtMs) throw new Error('it did not come to pass within 30 s')
    await sleep(50)
  }
}
