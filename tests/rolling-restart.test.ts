/**
 * A rollout: every process of the cluster gets SIGTERM and starts again, one of a service after the other. Meanwhile
 * streams of twenty seconds are open and short requests come without a pause, also over WebSockets. Nobody loses one.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@gateway/postgres/database'
import { type Cluster, startCluster } from '@gateway/cluster/start'
import type { ProcessPlan } from '@gateway/cluster/supervise'
import { expect, test } from 'vitest'
import { usageRecord } from '@gateway/contracts/usage-api'
import { configFor, type Gateway, newDeveloper, newLane, send, startBackends } from './promises/gateway.ts'
import { expectMeteredOnce } from './promises/ledger.ts'
import { startLoad } from './promises/load.ts'
import { startBalancer } from './rolling-restart/balancer.ts'
import { startSocketLoad } from './rolling-restart/socket-load.ts'

const SERVICES = ['edge', 'router', 'keys', 'metering']
const STREAM_SECONDS = 20
const TOKENS_PER_SECOND = 10
const LONG_STREAMS = 8
/** More than a stream takes; with it an edge that keeps one open could hold up the rollout. */
const DRAIN_MS = 40_000
const STOP_NOTICE_MS = 2_000

test('no request fails and no stream is cut while every process is restarted', async () => {
  await using stack = new AsyncDisposableStack()
  const { cluster, gateway } = await openCluster(stack)
  const database = stack.use(await openDatabase(cluster.servers.postgres.url))
  const edges = cluster.processes.filter(({ plan }) => plan.service === 'edge').map(({ plan }) => plan)
  const balancer = stack.use(await startBalancer(edges))
  const balanced = { urls: [balancer.url] as const }
  const keys = await Promise.all(Array.from({ length: 4 }, async () => (await newDeveloper(gateway)).key))

  gateway.backends.frail.setSpeed({ tokensPerSecond: TOKENS_PER_SECOND })
  for (const backend of [gateway.backends.steadyA, gateway.backends.steadyB]) backend.setSpeed({ tokensPerSecond: 300 })
  const long = startLoad(balanced, keys, {
    model: newLane(gateway).model,
    clients: LONG_STREAMS,
    streamsOfWords: STREAM_SECONDS * TOKENS_PER_SECOND,
  })
  const short = startLoad(balanced, keys, { model: 'svc-core', clients: 6 })
  const ofSockets = await newDeveloper(gateway)
  const sockets = startSocketLoad(balancer.url, ofSockets.key, 'svc-core', 4)
  await expect.poll(() => short.outcomes.length).toBeGreaterThan(20)

  const requested = new Set<string>()
  const takesPart = ({ service, url }: ProcessPlan) => service !== 'edge' || balancer.sendsTo(url)
  const rolling = Promise.all(
    SERVICES.map((service) => roll(cluster, service, (name) => requested.add(name), takesPart)),
  )
  await expect.poll(() => requested.size, { interval: 50 }).toBe(SERVICES.length + 2)
  // The last to stop has its streams now; more would only prolong the test.
  const longEnded = long.stop()
  const stopsMs = await rolling
  const servedBefore = short.outcomes.length
  await expect.poll(() => short.outcomes.length).toBeGreaterThan(servedBefore + 20)
  await Promise.all([longEnded, short.stop(), sockets.stop()])

  expect([...long.outcomes, ...short.outcomes].filter(({ problem }) => problem !== null)).toEqual([])
  expect([...long.outcomes, ...short.outcomes].filter(({ completed }) => !completed)).toEqual([])
  expect(long.outcomes.length).toBeGreaterThan(LONG_STREAMS)
  // Edges and routers had streams to finish, and did not wait for longer than those took.
  for (const stopMs of [...stopsMs[0]!, ...stopsMs[1]!]) {
    expect(stopMs).toBeGreaterThan((STREAM_SECONDS / 4) * 1000)
    expect(stopMs).toBeLessThan(DRAIN_MS)
  }
  await expectMeteredOnce(database, [...long.outcomes, ...short.outcomes])

  expect(sockets.lost).toEqual([])
  expect(sockets.completed).toBeGreaterThan(100)
  // Each edge that stopped closed its own.
  expect(sockets.connections).toBeGreaterThan(4)
  const metered = async () =>
    usageRecord.parse((await send(balancer.url, '/v1/usage', { key: ofSockets.key })).body).totals.requests
  await expect.poll(metered, { timeout: 10_000 }).toBe(sockets.completed)
})

/** Restarts the processes of a service one after the other. Returns the time that each took to stop. */
async function roll(
  cluster: Cluster,
  service: string,
  onSignal: (name: string) => void,
  takesPart: (plan: ProcessPlan) => boolean,
): Promise<number[]> {
  const stopsMs: number[] = []
  for (const process of cluster.processes.filter(({ plan }) => plan.service === service)) {
    const former = process.pid
    const signalledAtMs = performance.now()
    process.kill('SIGTERM')
    onSignal(process.plan.name)
    await expect.poll(() => process.pid, { timeout: DRAIN_MS + 10_000, interval: 50 }).not.toBe(former)
    stopsMs.push(performance.now() - signalledAtMs)
    // The cluster starts it again by itself.
    await expect.poll(() => process.pid, { interval: 50 }).toBeDefined()
    await process.ready()
    await expect.poll(() => takesPart(process.plan), { timeout: 10_000, interval: 50 }).toBe(true)
  }
  return stopsMs
}

async function openCluster(stack: AsyncDisposableStack): Promise<{ cluster: Cluster; gateway: Gateway }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-rolling-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const backends = await startBackends(stack)
  const config = join(dataDir, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configFor(backends, { requestsPerMinute: 1_000_000 })))
  const environment = {
    GATEWAY_CONFIG: config,
    TRUST_PROXY: 'loopback',
    LOG_LEVEL: 'warn',
    DRAIN_MS: String(DRAIN_MS),
    STOP_NOTICE_MS: String(STOP_NOTICE_MS),
  }
  const cluster = stack.use(await startCluster({ edges: 2, routers: 2, dataDir, ownServers: true, environment }))
  const [first, ...others] = cluster.edges
  return { cluster, gateway: { urls: [first!, ...others], issuer: cluster.issuer, backends } }
}
