/**
 * This gateway as a cluster: every service its own process on real NATS, Redis and PostgreSQL that waits for its disk.
 * Authentication, limits, allowance and durable metering are on; many accounts have a key each.
 */

import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { removeWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import type { ClientDialect, Vendor } from '@gateway/contracts/vendors'
import { signIn } from '@gateway/stand-ins/sign-in'
import { BENCH_DATA } from '../harness/folders.ts'
import { CHAT_PATH, type Launched, type Subject } from './subject.ts'

export interface GatewayOptions {
  edges?: number
  routers?: number
  accounts?: number
  /** Of each account; by default one that nothing here uses up. */
  allowance?: number
  /** A lane `bench-<dialect>` for each, over a backend that speaks it alone. */
  dialects?: readonly ClientDialect[]
  /** A lane `bench-<vendor>` for each, whose backend has that vendor's rules. */
  vendors?: readonly Vendor[]
  /** Added to the services' environment. */
  environment?: NodeJS.ProcessEnv
  log?(line: string): void
}

export interface LaunchedGateway extends Launched {
  cluster: Cluster
  keys: string[]
  dataDir: string
}

const BENCH_MODEL = 'svc-instant'
const SIGNED_IN_AT_ONCE = 8
/** The backend's own limit is not under measurement. */
const MOST_STREAMS = 10_000

export const gateway: Subject = {
  name: 'this gateway',
  prepare: async () => ({
    description:
      'one edge, one router, keys, metering, NATS with JetStream, Redis with its append-only file, PostgreSQL that waits ' +
      'for its disk; 100 accounts; authentication, limits, allowance and durable metering all on; every process counted',
    launch: (backendPort) => launchGateway(backendPort),
  }),
}

export async function launchGateway(backendPort: number, options: GatewayOptions = {}): Promise<LaunchedGateway> {
  const { edges = 1, routers = 1, accounts = 100 } = options
  await using opening = new AsyncDisposableStack()
  await mkdir(BENCH_DATA, { recursive: true })
  const folder = await mkdtemp(join(BENCH_DATA, 'gateway-'))
  const keepWithoutParent = removeWithParent(folder)
  opening.defer(async () => {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    keepWithoutParent()
  })
  const config = join(folder, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configOver(backendPort, options)))
  const environment = { GATEWAY_CONFIG: config, LOG_LEVEL: 'warn', DRAIN_MS: '1000', ...options.environment }
  const dataDir = join(folder, 'data')
  const cluster = opening.use(
    await startCluster({ edges, routers, dataDir, ownServers: true, environment, log: options.log }),
  )
  const keys = await mintKeys(cluster, accounts)
  const opened = opening.move()
  return {
    cluster,
    keys,
    dataDir,
    endpoint: {
      ports: cluster.edges.map((url) => Number(new URL(url).port)),
      path: CHAT_PATH,
      model: BENCH_MODEL,
      headers: {},
      tokens: keys,
    },
    processes: () => processesOf(cluster),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** The simulated backend and identity provider are not the gateway's cost. */
const FIXTURES = new Set(['backend', 'identity-provider'])

function processesOf({ processes, servers }: Cluster): Record<string, number> {
  const own = processes.filter(({ plan }) => !FIXTURES.has(plan.service)).map(({ plan, pid }) => [plan.name, pid])
  const backing = Object.entries(servers).map(([name, { pid }]) => [name, pid])
  return Object.fromEntries([...own, ...backing].filter(([, pid]) => pid !== undefined)) as Record<string, number>
}

export function laneOf(name: ClientDialect | Vendor): string {
  return `bench-${name}`
}

/** The limits are all in force and far away, so that the bench measures serving and not refusing. */
function configOver(backendPort: number, options: GatewayOptions): object {
  const { allowance = 1e12, dialects = [], vendors = [] } = options
  const lanes = [
    { id: 'bench', model: BENCH_MODEL, spoken: {} },
    ...dialects.map((dialect) => ({ id: laneOf(dialect), model: laneOf(dialect), spoken: { dialects: [dialect] } })),
    ...vendors.map((vendor) => ({ id: laneOf(vendor), model: laneOf(vendor), spoken: { vendor } })),
  ]
  const url = `http://127.0.0.1:${backendPort}/v1`
  const common = { url, maxConcurrent: MOST_STREAMS, timeouts: { idleMs: 120_000 } }
  return {
    backends: lanes.map(({ id, spoken }) => ({ id, ...common, ...spoken })),
    pools: lanes.map(({ id }) => ({ id, targets: [{ backend: id, model: 'bench' }] })),
    models: lanes.map(({ id, model }) => ({
      id: model,
      type: 'chat',
      pool: id,
      multiplier: 1,
      maxOutputTokens: 64_000,
    })),
    plans: [
      { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
      { slug: 'team', limit: allowance, rpm: 1_000_000, tpm: 1e9, default: true },
    ],
  }
}

async function mintKeys(cluster: Cluster, accounts: number): Promise<string[]> {
  const keys: string[] = []
  let next = 0
  const lane = async () => {
    while (next < accounts) keys.push(await mintKey(cluster, `bench ${next++}`))
  }
  await Promise.all(Array.from({ length: SIGNED_IN_AT_ONCE }, lane))
  return keys
}

async function mintKey({ edges: [edge], issuer }: Cluster, name: string): Promise<string> {
  const token = await signIn(issuer, { name, redirectUri: `${edge}/console` })
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${edge}/v1/keys/developer`, { method: 'POST', headers })
  if (!response.ok) throw new Error(`no key: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { key: string }).key
}
