/**
 * Promises 3 and 4 on a cluster whose Redis is in trouble while both edges are busy. A revoked key stays refused, a
 * spent allowance stays spent, everybody else goes on, and nothing hangs. The tests also kill the keys service in the
 * middle of a revoke or a rotate, between any two of its steps.
 */

import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus } from '@gateway/bus/port'
import { parseKey } from '@gateway/contracts/api-key'
import { rpcClient } from '@gateway/rpc/client'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { signIn } from '@gateway/stand-ins/sign-in'
import { commandRedis } from '@gateway/testing/redis-command'

const AWAY_MS = 4_000
/** An edge gives the store 250 ms, and the services behind it five seconds. */
const NOTHING_LASTS_MS = 20_000

const RATE = 20
const ALLOWANCE = 30
const PLANS = [
  { slug: 'guest-device', limit: 1_000, rpm: 10, tpm: 1_000, perDay: 10, guest: true },
  { slug: 'free', limit: 1e9, rpm: 1_000_000, tpm: 1e9, default: true },
  { slug: 'tiny', limit: ALLOWANCE, rpm: 1_000_000, tpm: 1e9 },
  { slug: 'slow', limit: 1e9, rpm: RATE, tpm: 1e9 },
]

let cluster: Cluster
let folder: string
let bus: Bus

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-redis-trouble-'))
  const config = join(folder, 'gateway.yaml')
  await writeFile(config, JSON.stringify({ plans: PLANS }))
  await mkdir(failpoints())
  const environment = { GATEWAY_CONFIG: config, LOG_LEVEL: 'warn', FAILPOINTS: failpoints() }
  cluster = await startCluster({ edges: 2, routers: 1, dataDir: folder, ownServers: true, environment })
  bus = await openNatsBus({ url: cluster.servers.nats.url, name: 'test' })
})

afterAll(async () => {
  await bus?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
  if (folder) await rm(folder, { recursive: true, force: true })
})

const failpoints = () => join(folder, 'failpoints')
const data = () => join(folder, 'cluster', 'redis')
const snapshot = () => join(folder, 'snapshot')

/**
 * Each leaves Redis serving again, if need be through the cluster, which starts it again two seconds after its death.
 */
const troubles: { name: string; before?: () => Promise<void>; trouble: () => Promise<unknown> }[] = [
  { name: 'flushed', trouble: () => commandRedis(cluster.servers.redis.url, 'FLUSHALL') },
  { name: 'killed, and started again with what it had written', trouble: () => cluster.servers.redis.kill() },
  {
    name: 'killed, and started again with nothing',
    async trouble() {
      await cluster.servers.redis.kill()
      await rm(data(), { recursive: true })
      await mkdir(data())
    },
  },
  {
    name: 'replaced by an older snapshot, in which the key was alive',
    before: () => cp(data(), snapshot(), { recursive: true }),
    async trouble() {
      await cluster.servers.redis.kill()
      await rm(data(), { recursive: true })
      await cp(snapshot(), data(), { recursive: true })
    },
  },
  {
    name: 'silent for a while, its connections open',
    async trouble() {
      await cluster.servers.redis.kill('SIGSTOP')
      await sleep(AWAY_MS)
      await cluster.servers.redis.kill('SIGCONT')
    },
  },
]

test.each(troubles)(
  'Redis $name: a revoked key stays refused, an empty allowance empty, and everybody else goes on',
  async ({ before, trouble }) => {
    const live = await newKey()
    const dead = await newKey()
    const spent = await newKey()
    await setPlan(spent.key, 'tiny')
    for (const edge of cluster.edges) {
      expect((await sendRequest(edge, live.key)).status).toBe(200)
      expect((await sendRequest(edge, dead.key)).status).toBe(200)
    }
    await until(async () => (await sendRequest(cluster.edges[0]!, spent.key)).status === 402)
    await until(async () => (await usedByLedger(spent.key)) >= ALLOWANCE)
    await before?.()
    expect(await manage(dead.token, 'revoke', dead.key)).toMatchObject({ status: 200 })

    const load = keepRequesting({ live: live.key, dead: dead.key, spent: spent.key })
    await sleep(500)
    await trouble()
    await until(async () => (await commandRedis(cluster.servers.redis.url, 'PING').catch(() => 'away')) !== 'away')
    await sleep(2_000)
    await until(async () => load.seen.live.length > 20)
    const seen = await load.stop()

    expect(countByStatus(seen.dead)).toEqual({ 401: seen.dead.length })
    expect(countByStatus(seen.spent)).toEqual({ 402: seen.spent.length })
    expect(countByStatus(seen.live)).toEqual({ 200: seen.live.length })
    const all = [...seen.dead, ...seen.spent, ...seen.live]
    expect(Math.max(...all.map(({ tookMs }) => tookMs))).toBeLessThan(NOTHING_LASTS_MS)
  },
  60_000,
)

test('while Redis is silent, the edges together admit no more than the rate, and a revoke is not confirmed', async () => {
  const slow = await newKey()
  const { token, key } = await newKey()
  await setPlan(slow.key, 'slow')
  await cluster.servers.redis.kill('SIGSTOP')
  try {
    const replies = await Promise.all(
      Array.from({ length: 2 * RATE }, () => cluster.edges.map((edge) => sendRequest(edge, slow.key))).flat(),
    )
    const admitted = countByStatus(replies)
    expect(Object.keys(admitted)).toEqual(['200', '429'])
    expect(admitted[200]).toBeLessThanOrEqual(RATE)
    expect(admitted[200]).toBeGreaterThanOrEqual(RATE / 2)
    expect(await manage(token, 'revoke', key)).toMatchObject({ status: 503 })
    // It is stored, though, and edges that query keys themselves know it.
    for (const edge of cluster.edges) expect((await sendRequest(edge, key)).status).toBe(401)
  } finally {
    await cluster.servers.redis.kill('SIGCONT')
  }
  await until(async () => (await manage(token, 'revoke', key)).status === 200)
  for (const edge of cluster.edges) expect((await sendRequest(edge, key)).status).toBe(401)
})

test.each([
  ['revoke', 'keys.change-committed'],
  ['revoke', 'keys.tombstone-written'],
  ['revoke', 'keys.change-announced'],
  ['rotate', 'keys.change-committed'],
] as const)(
  'a %s whose process is killed at %s is finished by the next one, although its caller saw no 200',
  async (action, point) => {
    const { token, key } = await newKey()
    expect(await statuses(key)).toEqual([200, 200])
    await writeFile(join(failpoints(), point), '')
    expect((await manage(token, action, key)).status).toBe(503)

    await until(async () => (await statuses(key)).every((status) => status === 401))
    await until(async () => (await manage(token, 'mint')).status === 200)
    const { body } = await manage(token, 'mint')
    expect(body['key']).not.toBe(key)
    expect(await statuses(String(body['key']))).toEqual([200, 200])
    expect((await manage(token, action, key)).status).toBe(action === 'revoke' ? 200 : 401)
    expect(await statuses(key)).toEqual([401, 401])
    expect(await statuses(String(body['key']))).toEqual([200, 200])
  },
  60_000,
)

let owners = 0
async function newKey(): Promise<{ token: string; key: string }> {
  const redirectUri = `${cluster.edges[0]}/console`
  const token = await signIn(cluster.issuer, { name: `owner-${++owners}`, redirectUri })
  const { status, body } = await manage(token, 'mint')
  expect({ status, body }).toMatchObject({ status: 200 })
  return { token, key: String(body['key']) }
}

async function manage(token: string, action: 'mint' | 'rotate' | 'revoke', key?: string) {
  const response = await fetch(`${cluster.edges[0]}/v1/keys/developer${action === 'mint' ? '' : `/${action}`}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
    signal: AbortSignal.timeout(60_000),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function setPlan(key: string, plan: string): Promise<void> {
  const question = { subject: parseKey(key)!.accountTag, plan }
  expect(await rpcClient('ctl', bus).request('keysSetPlan', question, { timeoutMs: 10_000 })).toMatchObject({
    kind: 'account',
  })
}

/** A store that forgot knows an allowance as empty once the ledger has the requests that emptied it. */
async function usedByLedger(key: string): Promise<number> {
  const question = { account: parseKey(key)!.accountTag, unit: 'tokens' } as const
  const { used } = await rpcClient('edge', bus).request('meteringQuota', question, { timeoutMs: 10_000 })
  return used
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

const statuses = (key: string) => Promise.all(cluster.edges.map(async (edge) => (await sendRequest(edge, key)).status))

/** Sends requests to both edges with every key, without a break, until it is stopped. */
function keepRequesting<Name extends string>(keys: Record<Name, string>) {
  const names = Object.keys(keys) as Name[]
  const seen = Object.fromEntries(names.map((name) => [name, [] as Reply[]])) as Record<Name, Reply[]>
  const over = new AbortController()
  const loops = cluster.edges.flatMap((edge) =>
    names.map(async (name) => {
      while (!over.signal.aborted) seen[name].push(await sendRequest(edge, keys[name]))
    }),
  )
  return {
    seen,
    async stop(): Promise<Record<Name, Reply[]>> {
      over.abort()
      await Promise.all(loops)
      return seen
    },
  }
}

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
