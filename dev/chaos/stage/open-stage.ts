/**
 * The cluster under faults, on servers of its own, before backends whose log is the truth, with accounts and keys.
 */

import { appendFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus } from '@gateway/bus/port'
import { rpcClient } from '@gateway/rpc/client'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { startBackend, type Backend, type BackendCall } from '@gateway/stand-ins/backend'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { signIn } from '@gateway/stand-ins/sign-in'
import { callKeysApi } from '../clients/manage-keys.ts'
import { openKeyring, ownerWith, type Keyring } from '../clients/owners.ts'
import type { OwnerName } from '../plan/owners.ts'
import { type Network, openNetwork } from '../network/network-links.ts'
import type { ReplicatedServers } from '../network/replicated/open-servers.ts'
import type { VersionName } from '../plan/faults.ts'
import type { Backend as BackendName, RedisForm, Victim } from '../plan/places.ts'
import { sabotageLedger, sabotaged } from '../sabotage/prepare.ts'
import type { Sabotage } from '../sabotage/sabotages.ts'
import { type Clocks, openClocks } from './clocks.ts'
import { configOver, PLAN_OF } from './config.ts'
import { type Disk, openDisk } from './disk.ts'
import { type Links, openLinks } from './links.ts'
import { entryOf, type Versions } from './versions.ts'
import { type LogWatch, watchLogs } from './watch-logs.ts'

export interface Stage extends AsyncDisposable {
  /** Where everything of this run lies: configs, logs, the servers' data. */
  readonly folder: string
  readonly cluster: Cluster
  readonly links: Links
  /** Null without `--network`. */
  readonly network: Network | null
  readonly clocks: Clocks
  /** The broker's; null where none can be made full. */
  readonly disk: Disk | null
  /** A file with a failpoint's name here is death to the next process that passes it. */
  readonly failpoints: string
  readonly logs: LogWatch
  /** The addresses at which clients reach them. */
  readonly edgeUrls: readonly [string, string]
  readonly keyring: Keyring
  /** Straight to the servers, past everything that a run puts in between. */
  readonly database: Database
  readonly bus: Bus
  readonly backends: Readonly<Record<BackendName, Backend>>
  calls(): BackendCall[]
  pidOf(victim: Victim): number | undefined
  /** Resolves when the process has ended and the other version of it is starting. */
  switchVersion(process: string, to: VersionName): Promise<void>
}

const TOKENS_PER_SECOND = 200
const KEEP_CALLS = 200_000
const KEEP_BODY_BYTES = 64 * 1024

/**
 * Where a dial of NATS took more than 2 s, the last release keeps that socket, and waits for it when it stops. The bound
 * holds for both versions of a run; `tests/stop-without-servers.test.ts` shows that this one stops by itself.
 */
const LAST_RELEASE_STOPS_WITHIN_MS = 40_000

export interface StageOptions {
  folder: string
  owners: readonly OwnerName[]
  /** Something that the gateway's promises rest on is taken away. */
  sabotage?: Sabotage | undefined
  /** The cluster begins on the former one, with two of every service. */
  versions?: Versions | undefined
  /** Each process has a host of its own. */
  network?: boolean | undefined
  /** And so has each server and each copy of it. */
  replicated?: RedisForm | undefined
}

export async function openStage({
  folder,
  owners,
  sabotage,
  versions,
  network: isNetwork,
  replicated,
}: StageOptions): Promise<Stage> {
  await using opening = new AsyncDisposableStack()
  await mkdir(folder, { recursive: true })
  const start = async (tokensPerSecond: number) =>
    opening.use(
      await startBackend({
        ...{ tokensPerSecond, keepCalls: KEEP_CALLS, keepBodyBytes: KEEP_BODY_BYTES },
        dialects: ['messages'],
      }),
    )
  const backends = {
    north: await start(TOKENS_PER_SECOND),
    south: await start(TOKENS_PER_SECOND),
    bulk: await start(0),
  }
  const urls = { north: backends.north.url, south: backends.south.url, bulk: backends.bulk.url }
  const config = join(folder, 'gateway.yaml')
  // JSON is YAML.
  await writeFile(config, JSON.stringify(configOver(urls), null, 2))
  const copies = replicated ? { folder: join(folder, 'cluster'), redis: replicated } : null
  const network = isNetwork ? await openNetwork({ backends: urls, replicated: copies }) : null
  const links = opening.use(network ?? openLinks(folder, config, urls))
  const clocks = await openClocks(folder)
  const events = join(folder, 'cluster.log')
  const failpoints = join(folder, 'failpoints')
  await mkdir(failpoints, { recursive: true })
  const disk = await openDisk(join(folder, 'cluster', 'nats', 'jetstream'))
  if (disk) opening.use(disk)
  if (network?.servers) nameServers(network.servers)
  const cluster = opening.use(
    await startCluster({
      edges: 2,
      routers: 2,
      keepers: versions ? 2 : 1,
      dataDir: folder,
      ownServers: !network?.servers,
      environment: { GATEWAY_CONFIG: config, LOG_LEVEL: 'info', TRUST_PROXY: 'loopback', FAILPOINTS: failpoints },
      log: (line) => appendFileSync(events, `${new Date().toISOString()} ${line}\n`),
      async prepare(plan) {
        const prepared = clocks.prepare(await links.prepare(plan))
        if (versions && plan.script.startsWith('services/')) {
          prepared.script = entryOf(plan, versions.former)
          prepared.killAfterMs = LAST_RELEASE_STOPS_WITHIN_MS
        }
        return sabotage ? sabotaged(prepared, sabotage) : prepared
      },
    }),
  )
  const [first, second] = cluster.edges as [string, string]
  const edgeUrls = [await links.toEdge('edge-1', first), await links.toEdge('edge-2', second)] as const
  const logs = opening.use(watchLogs(['edge-1', 'edge-2'].map((name) => cluster.process(name).plan.logFile)))
  const database = opening.use(await openDatabase(cluster.servers.postgres.url))
  if (sabotage) await sabotageLedger(database, sabotage)
  const bus = opening.use(await openNatsBus({ url: cluster.servers.nats.url, name: 'chaos' }))
  const keyring = openKeyring(await Promise.all(owners.map((owner) => openOwner(cluster, bus, owner))))
  const opened = opening.move()
  return {
    folder,
    cluster,
    links,
    network,
    clocks,
    disk,
    failpoints,
    logs,
    edgeUrls,
    keyring,
    database,
    bus,
    backends,
    calls: () => Object.values(backends).flatMap((backend) => backend.calls),
    pidOf: (victim) =>
      victim === 'nats' || victim === 'redis' || victim === 'postgres'
        ? cluster.servers[victim].pid
        : cluster.process(victim).pid,
    async switchVersion(name, to) {
      if (!versions) throw new Error('this run has one version')
      const process = cluster.process(name)
      await process.replace(entryOf(process.plan, versions[to]))
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** The cluster takes servers that the environment names. */
function nameServers({ nats, redis, postgres }: ReplicatedServers): void {
  Object.assign(process.env, {
    NATS_URL: nats.url,
    NATS_STREAM_REPLICAS: '3',
    REDIS_URL: redis.url,
    DATABASE_URL: postgres.url,
  })
}

async function openOwner(cluster: Cluster, bus: Bus, name: OwnerName) {
  const [url = ''] = cluster.edges
  const token = await signIn(cluster.issuer, { name: name.name, redirectUri: `${url}/console` })
  const { status, key, detail } = await callKeysApi(url, token, 'mint')
  if (status !== 200) throw new Error(`${name.name} was given no key: ${detail}`)
  const owner = ownerWith(name, token, key)
  const question = { subject: owner.account, plan: PLAN_OF[name.kind] }
  const { kind } = await rpcClient('ctl', bus).request('keysSetPlan', question, { timeoutMs: 10_000 })
  if (kind !== 'account') throw new Error(`${name.name} could not be put on its plan: ${kind}`)
  return owner
}
