/**
 * Nobody writes in an account's name with a key that nobody has proven. Each route gets every form of request, with
 * dead, rotated and forged keys. The edge has just begun and remembers none of them. Redis and PostgreSQL hold the same
 * before and after, and the owner notices nothing.
 */

import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { formatKey, parseKey, randomBase62 } from '@gateway/contracts/api-key'
import { type Leftover, readDatabase, readRedis } from '@gateway/testing/leftovers'
import { watchWrites } from '@gateway/testing/watch-redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reference } from '../services/edge/src/routes.ts'
import { waysToRequest } from './promises/credentials.ts'
import { type Address, userMessages, manageKeys, newDeveloper, send } from './promises/gateway.ts'

const SETTLED = { timeout: 60_000, interval: 250 }
/** The ways of `waysToRequest` with an `Idempotency-Key` use this one. */
const WALKED = 'walked'

let cluster: Cluster
let folder: string
let gateway: Address

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-unproven-'))
  const config = join(folder, 'gateway.yaml')
  const plans = [
    { slug: 'guest-device', limit: 1_000, rpm: 10, tpm: 1_000, perDay: 10, guest: true },
    { slug: 'free', limit: 1e9, rpm: 1_000, tpm: 1e9, default: true },
  ]
  await writeFile(config, JSON.stringify({ plans }))
  const environment = { GATEWAY_CONFIG: config, LOG_LEVEL: 'warn' }
  cluster = await startCluster({ edges: 1, routers: 1, dataDir: folder, ownServers: true, environment })
  gateway = { urls: [cluster.edges[0]!], issuer: cluster.issuer }
})
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
  if (folder) await rm(folder, { recursive: true, force: true })
})

/** An owner with a living key, and the keys that must not act for it. */
async function newOwner() {
  const first = await newDeveloper(gateway)
  const { body } = await manageKeys(gateway, first.token, 'POST', '/rotate', { key: first.key })
  const revoked = await newDeveloper(gateway)
  await manageKeys(gateway, revoked.token, 'POST', '/revoke', { key: revoked.key })
  const live = String(body['key'])
  const forged = formatKey({ ...parseKey(live)!, secret: randomBase62(32, randomBytes) })
  return { live, dead: { rotated: first.key, revoked: revoked.key, forged } }
}

/** Everything that the stores hold, by place. */
async function contents(): Promise<Record<string, string>> {
  const held: Record<string, string> = {}
  const add = ({ place, content }: Leftover) => void (held[place] = createHash('sha256').update(content).digest('hex'))
  for await (const piece of readRedis(cluster.servers.redis.url)) add(piece)
  for await (const piece of readDatabase(cluster.servers.postgres.url)) add(piece)
  return held
}

const NOTHING = createHash('sha256').update('').digest('hex')

/**
 * Waits until all stores have the owner's earlier changes: nothing moves by itself any more. Notes of usage move into sums every few
 * seconds.
 */
async function settledContents(): Promise<Record<string, string>> {
  let before = await contents()
  await expect
    .poll(async () => {
      const held = await contents()
      const isStill = JSON.stringify(held) === JSON.stringify(before)
      before = held
      const hasMoved = held['the table metering.usage_notes'] === NOTHING
      return isStill && hasMoved && held['the table keys.spending'] !== NOTHING
    }, SETTLED)
    .toBe(true)
  return before
}

/**
 * An edge that has just begun has heard of no dead key. The former one ends in order: if it were killed, its router would
 * report the owner's own request once more, seconds later.
 */
async function restartEdge(): Promise<void> {
  cluster.process('edge-1').kill('SIGTERM')
  const replies = async () => (await fetch(`${gateway.urls[0]}/v1/models`).catch(() => null))?.status ?? 'down'
  await expect.poll(replies, { timeout: 10_000, interval: 10 }).toBe('down')
  await expect.poll(replies, SETTLED).toBe(200)
  await cluster.process('edge-1').ready()
}

const chat = (content: string) => ({ model: 'svc-core', messages: userMessages(content) })

test('the stores hold the same after any request with a dead, a rotated or a forged key', async () => {
  const { live, dead } = await newOwner()
  expect((await send(gateway.urls[0], '/v1/chat/completions', { key: live, body: chat('Say: mine') })).status).toBe(200)
  await restartEdge()
  const before = await settledContents()
  await using writes = await watchWrites(cluster.servers.redis.url)
  // No inference key opens the calls of administration and of payment systems, and the audit log has each refusal.
  const opensNone = new Set(['none', 'administrator', 'signature'])
  const ofAccounts = reference.filter(({ credential }) => !opensNone.has(credential))
  for (const operation of ofAccounts) {
    for (const key of Object.values(dead)) {
      for (const [how, path, parts] of waysToRequest(operation, key)) {
        const { status } = await send(gateway.urls[0], path, parts)
        expect([operation.path, how, status]).toEqual([operation.path, how, 401])
      }
    }
  }
  // A write that is taken back at once has stood in somebody's way meanwhile.
  const accounts = [live, ...Object.values(dead)].map((key) => parseKey(key)!.accountTag)
  expect(await writes.of(accounts)).toEqual([])
  expect(await contents()).toEqual(before)
}, 180_000)

test.each(['rotated', 'forged'] as const)(
  'an owner’s request with an Idempotency-Key runs, although requests under it come with a %s key at the same time',
  async (kind) => {
    const { live, dead } = await newOwner()
    await restartEdge()
    const headers = { 'idempotency-key': WALKED }
    const attack = () =>
      Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          send(gateway.urls[0], '/v1/chat/completions', { key: dead[kind], headers, body: chat(`Say: ${index}`) }),
        ),
      )
    const attacks = [attack(), attack()]
    const owned = await send(gateway.urls[0], '/v1/chat/completions', { key: live, headers, body: chat('Say: mine') })
    expect({ status: owned.status, body: owned.body['error'] }).toEqual({ status: 200, body: undefined })
    for (const { status } of (await Promise.all(attacks)).flat()) expect(status).toBe(401)
  },
  120_000,
)
