/**
 * The whole gateway on a Redis that three Sentinels watch. The primary freezes, and later its successor dies: the Sentinels
 * promote the other server each time, under load. No request fails, no dead key lives, and the totals are the ledger's.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scrapeCluster } from '@gateway/cluster/scrape'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { openDatabase } from '@gateway/postgres/database'
import { replicationOf, startRedisSentinels } from '@gateway/servers/redis-sentinel'
import type { Server } from '@gateway/servers/start'
import {
  userMessages,
  configFor,
  type Gateway,
  manageKeys,
  newDeveloper,
  quotaOf,
  send,
  startBackends,
} from './promises/gateway.ts'
import { expectMeteredOnce } from './promises/ledger.ts'
import { startLoad } from './promises/load.ts'

const TIMEOUTS = { timeout: 60_000, interval: 100 }

test('Redis fails over under load, twice, and nobody notices', async () => {
  await using stack = new AsyncDisposableStack()
  const redis = stack.use(await startRedisSentinels())
  const { cluster, gateway } = await openCluster(stack, redis.url)
  const database = stack.use(await openDatabase(cluster.servers.postgres.url))
  const [live, dead] = await Promise.all([newDeveloper(gateway), newDeveloper(gateway)])
  expect((await manageKeys(gateway, dead.token, 'POST', '/revoke', { key: dead.key })).status).toBe(200)

  const load = startLoad(gateway, [live.key], { model: 'svc-core', clients: 4 })
  const moreIsServed = async () => {
    const before = load.outcomes.length
    await expect.poll(() => load.outcomes.length, TIMEOUTS).toBeGreaterThan(before + 20)
  }
  const theStoreDecides = async () => {
    const before = await countDecidedAlone(cluster)
    await moreIsServed()
    return (await countDecidedAlone(cluster)) === before
  }
  const failOver = async (to: Server, injectFault: () => Promise<unknown>) => {
    await moreIsServed()
    await injectFault()
    await expect.poll(() => replicationOf(to), TIMEOUTS).toContain('role:master')
    await expect.poll(theStoreDecides, TIMEOUTS).toBe(true)
    for (const url of gateway.urls) expect((await chat(url, dead.key)).status).toBe(401)
  }

  await failOver(redis.replica, () => redis.primary.kill('SIGSTOP'))
  await redis.primary.kill('SIGCONT')
  // The Sentinels make it a replica when they hear of it again.
  await expect.poll(() => replicationOf(redis.primary), TIMEOUTS).toContain('master_link_status:up')
  await failOver(redis.primary, () => redis.replica.kill())

  await load.stop()
  expect(load.outcomes.filter(({ problem }) => problem !== null)).toEqual([])
  await expectMeteredOnce(database, load.outcomes)
  const { rows } = await database.query<{ charged: number }>(
    'select sum(charge)::bigint as charged from metering.ledger',
  )
  const totalsDiffer = async () => Math.abs((await quotaOf(live, gateway.urls[0])).used - rows[0]!.charged / 1_000) >= 1
  await expect.poll(totalsDiffer, TIMEOUTS).toBe(false)
})

function chat(url: string, key: string) {
  return send(url, '/v1/chat/completions', { key, body: { model: 'svc-core', messages: userMessages('Say: hi') } })
}

async function countDecidedAlone(cluster: Cluster): Promise<number> {
  const { samples } = await scrapeCluster(cluster)
  const counts = samples.filter(({ name }) => name === 'gateway_admission_without_store_total')
  return counts.reduce((sum, { value }) => sum + value, 0)
}

async function openCluster(stack: AsyncDisposableStack, redisUrl: string) {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-sentinel-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const backends = await startBackends(stack)
  const config = join(dataDir, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configFor(backends, { requestsPerMinute: 1_000_000 })))
  const cluster = stack.use(
    await startCluster({
      ...{ edges: 2, routers: 1, dataDir, ownServers: true },
      environment: { GATEWAY_CONFIG: config, LOG_LEVEL: 'warn' },
      prepare: (plan) => ({ ...plan, environment: { ...plan.environment, REDIS_URL: redisUrl } }),
    }),
  )
  const [first, ...others] = cluster.edges
  const gateway: Gateway = { urls: [first!, ...others], issuer: cluster.issuer, backends }
  return { cluster, gateway }
}
