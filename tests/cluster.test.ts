/**
 * The gateway as it runs in production: every service a process of its own, on real NATS, Redis and PostgreSQL.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '@gateway/postgres/database'
import { type Cluster, startCluster } from '@gateway/cluster/start'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { promiseAllowance } from './promises/allowance.ts'
import { promiseResponses } from './promises/responses.ts'
import { promiseFailover } from './promises/failover.ts'
import { userMessages, configFor, type OperatedGateway, newDeveloper, startBackends } from './promises/gateway.ts'
import { promiseIdempotency } from './promises/idempotency.ts'
import { promiseCredentials } from './promises/credentials.ts'
import { promiseKeys } from './promises/keys.ts'
import { expectMeteredOnce, expectPartsMetered } from './promises/ledger.ts'
import { promiseLimits } from './promises/limits.ts'
import { startLoad } from './promises/load.ts'
import { promiseMetering } from './promises/metering.ts'
import { promiseRefusals } from './promises/refusals.ts'
import { promiseUsage } from './promises/usage.ts'

describe('two edges and two routers keep the promises of one process', () => {
  const stack = new AsyncDisposableStack()
  let gateway: OperatedGateway
  beforeAll(async () => {
    ;({ gateway } = await openCluster(stack))
  })
  afterAll(() => stack.disposeAsync())

  promiseResponses(() => gateway)
  promiseRefusals(() => gateway)
  promiseCredentials(() => gateway)
  promiseKeys(() => gateway)
  promiseIdempotency(() => gateway)
  promiseMetering(() => gateway)
  promiseUsage(() => gateway)
  promiseLimits(() => gateway)
  promiseAllowance(() => gateway)
  promiseFailover(() => gateway)

  test('every edge serves', async () => {
    const developer = await newDeveloper(gateway)
    for (const url of gateway.urls) {
      const reply = await developer
        .at(url)
        .chat.completions.create({ model: 'svc-core', messages: userMessages('Say: here') })
      expect(reply.choices[0]!.message.content).toBe('here')
    }
  })
})

/**
 * `problems`: the failures that clients of the same load may meet while the victim is away. An edge takes its own
 * clients' requests with it, and a router takes the streams that had shown content. Without NATS the gateway can meter
 * nothing, so it begins nothing.
 */
interface Blow {
  victim: string
  signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP'
  problems: string[]
}

describe('a part that fails under load has lost nothing and doubled nothing when it comes back', () => {
  const stack = new AsyncDisposableStack()
  let gateway: OperatedGateway
  let cluster: Cluster
  let database: Database
  let keys: string[]
  beforeAll(async () => {
    ;({ gateway, cluster } = await openCluster(stack, { requestsPerMinute: 1_000_000 }))
    database = stack.use(await openDatabase(cluster.servers.postgres.url))
    const { steadyA, steadyB } = gateway.backends
    for (const backend of [steadyA, steadyB]) backend.setSpeed({ tokensPerSecond: 300 })
    keys = await Promise.all(Array.from({ length: 4 }, async () => (await newDeveloper(gateway)).key))
  })
  afterAll(() => stack.disposeAsync())

  test.each<Blow>([
    { victim: 'edge-2', signal: 'SIGKILL', problems: ['unreachable', 'broken'] },
    { victim: 'edge-2', signal: 'SIGTERM', problems: ['unreachable'] },
    { victim: 'router-1', signal: 'SIGKILL', problems: ['broken'] },
    { victim: 'router-2', signal: 'SIGTERM', problems: [] },
    { victim: 'router-2', signal: 'SIGSTOP', problems: ['broken'] },
    { victim: 'metering-1', signal: 'SIGKILL', problems: [] },
    { victim: 'metering-1', signal: 'SIGSTOP', problems: [] },
    { victim: 'keys-1', signal: 'SIGKILL', problems: [] },
    { victim: 'redis', signal: 'SIGKILL', problems: [] },
    { victim: 'redis', signal: 'SIGSTOP', problems: [] },
    { victim: 'postgres', signal: 'SIGKILL', problems: [] },
    { victim: 'nats', signal: 'SIGKILL', problems: ['broken', '503'] },
  ])('$victim by $signal', async ({ victim, signal, problems }) => {
    const load = startLoad(gateway, keys, { model: 'svc-core', clients: 8 })
    const servedSince = (url: string, atMs: number) =>
      load.outcomes.filter((outcome) => outcome.url === url && outcome.completed && outcome.endedAtMs > atMs).length
    for (const url of gateway.urls) await expect.poll(() => servedSince(url, 0), SOON).toBeGreaterThan(10)

    await injectFault(cluster, victim, signal)
    const backAtMs = Date.now()
    for (const url of gateway.urls) await expect.poll(() => servedSince(url, backAtMs), SOON).toBeGreaterThan(10)
    await load.stop()

    expect(load.outcomes.filter(({ problem }) => problem !== null && !problems.includes(problem))).toEqual([])
    const broken = load.outcomes.filter(({ problem }) => problem === 'broken')
    const ownClients = victim.startsWith('edge') ? cluster.process(victim).plan.url : null
    expect(broken.filter(({ streamed, url }) => !streamed && url !== ownClients)).toEqual([])
    await expectMeteredOnce(database, load.outcomes)
    await expectPartsMetered(database, broken)
  })
})

const SOON = { timeout: 60_000, interval: 100 }
/** Longer than it takes to notice that a process is gone. */
const FROZEN_MS = 5_000

/** Resolves when the victim is back: thawed after {@link FROZEN_MS}, or started again by the cluster itself. */
async function injectFault(cluster: Cluster, victim: string, signal: Blow['signal']): Promise<void> {
  const isServer = victim === 'nats' || victim === 'redis' || victim === 'postgres'
  const target = isServer ? cluster.servers[victim] : cluster.process(victim)
  const { pid } = target
  process.kill(pid!, signal)
  if (signal === 'SIGSTOP') {
    await new Promise((resolve) => setTimeout(resolve, FROZEN_MS))
    process.kill(pid!, 'SIGCONT')
    return
  }
  await expect.poll(() => target.pid !== undefined && target.pid !== pid, SOON).toBe(true)
  if (!isServer) await cluster.process(victim).ready()
}

async function openCluster(
  stack: AsyncDisposableStack,
  options: { requestsPerMinute?: number } = {},
): Promise<{ gateway: OperatedGateway; cluster: Cluster }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-cluster-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const backends = await startBackends(stack)
  const config = join(dataDir, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configFor(backends, options)))
  const cluster = stack.use(
    await startCluster({
      edges: 2,
      routers: 2,
      dataDir,
      ownServers: true,
      environment: { GATEWAY_CONFIG: config, TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn' },
    }),
  )
  const [first, ...others] = cluster.edges
  return { cluster, gateway: { urls: [first!, ...others], issuer: cluster.issuer, backends, dataDir } }
}
