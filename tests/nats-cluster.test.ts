/**
 * Three NATS servers, as the compose file and the chart run them: each is killed under load, and nothing is lost.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { type Database, openDatabase } from '@gateway/postgres/database'
import { startCluster } from '@gateway/cluster/start'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type NatsCluster, startThreeServers } from './nats-permissions/three-servers.ts'
import { accounts, passwords } from './nats-permissions/users.ts'
import { configFor, type Gateway, newDeveloper, startBackends } from './promises/gateway.ts'
import { expectMeteredOnce } from './promises/ledger.ts'
import { startLoad } from './promises/load.ts'

/** Longer than another server needs to be elected, and the gateway to see it. */
const AWAY_MS = 5_000
const SOON = { timeout: 60_000, interval: 100 }

describe('a NATS server of three is killed under load', () => {
  const stack = new AsyncDisposableStack()
  let nats: NatsCluster
  let gateway: Gateway
  let database: Database
  let keys: string[]
  beforeAll(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-nats-'))
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    nats = stack.use(await startThreeServers(dataDir))
    vi.stubEnv('NATS_URL', nats.url)
    stack.defer(() => void vi.unstubAllEnvs())
    const backends = await startBackends(stack)
    for (const backend of [backends.steadyA, backends.steadyB]) backend.setSpeed({ tokensPerSecond: 100 })
    const config = join(dataDir, 'gateway.yaml')
    await writeFile(config, JSON.stringify(configFor(backends, { requestsPerMinute: 1_000_000 })))
    const environment = { GATEWAY_CONFIG: config, TRUST_PROXY: 'loopback', NATS_STREAM_REPLICAS: '3' }
    const cluster = stack.use(
      await startCluster({ edges: 2, routers: 2, dataDir, natsUsers: { accounts, passwords }, environment }),
    )
    const [first, ...others] = cluster.edges
    gateway = { urls: [first!, ...others], issuer: cluster.issuer, backends }
    database = stack.use(await openDatabase(cluster.servers.postgres.url))
    keys = await Promise.all(Array.from({ length: 4 }, async () => (await newDeveloper(gateway)).key))
  })
  afterAll(() => stack.disposeAsync())

  test('usage is kept by all three', async () => {
    await using admin = await connect({ servers: nats.url.split(','), user: 'admin', pass: passwords['admin']! })
    const { data } = await admin.request('$JS.API.STREAM.INFO.USAGE')
    expect(JSON.parse(Buffer.from(data).toString())).toMatchObject({ config: { num_replicas: 3 } })
  })

  test.each([0, 1, 2])('server %d', async (index) => {
    const load = startLoad(gateway, keys, { model: 'svc-core', clients: 8 })
    const servedSince = (atMs: number) =>
      load.outcomes.filter(({ completed, endedAtMs }) => completed && endedAtMs > atMs).length
    await expect.poll(() => servedSince(0), SOON).toBeGreaterThan(20)
    const killedAtMs = Date.now()
    await nats.servers[index]!.kill('SIGKILL')
    await expect.poll(() => servedSince(killedAtMs + AWAY_MS), SOON).toBeGreaterThan(20)
    await nats.servers[index]!.restart()
    const backAtMs = Date.now()
    await expect.poll(() => servedSince(backAtMs + 2_000), SOON).toBeGreaterThan(20)
    await load.stop()

    // While another server is elected, each response waits for its end.
    expect(load.outcomes.filter(({ problem }) => problem !== null)).toEqual([])
    await expectMeteredOnce(database, load.outcomes)
  })
})
