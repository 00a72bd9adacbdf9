/**
 * The whole gateway as it runs in production, on this machine. Every service is a process of its own, on real NATS,
 * Redis and PostgreSQL. A simulated backend and the development identity provider run beside it.
 *
 * It starts each of its processes again two seconds after a death, servers too. `cluster.json` in the data folder lists
 * at any time which process runs where, and is gone after an orderly stop. Nothing outlives this process, `kill -9`
 * included; if something does all the same, the next start finds it there and ends it.
 */

import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { freePorts, isFree } from '@gateway/embedded-postgres/free-port'
import { ownFolder } from '@gateway/embedded-postgres/own-folder'
import { openDataFolder } from '@gateway/local/data-folder'
import { EnvironmentError } from '@gateway/service/environment'
import { keepMasterSecret } from '@gateway/local/master-secret-file'
import { type ClusterShape, planProcesses } from './plan-processes.ts'
import { endLeftovers, recordCluster } from './record.ts'
import { keepServerRunning, supervise, type ProcessPlan, type SupervisedProcess } from './supervise.ts'
import { startNats, startPostgres, startRedis, type Server } from '@gateway/servers/start'

export interface ClusterOptions extends ClusterShape {
  /** Never servers that the environment names: for tests that kill them. */
  ownServers?: boolean
  /** A NATS server that lets in only the users of its accounts; `passwords` by service. */
  natsUsers?: { accounts: string; passwords: Record<string, string> }
  /** Changes the plan of a process before it is started: for tests that stand between it and the others. */
  prepare?(plan: ProcessPlan): ProcessPlan | Promise<ProcessPlan>
  log?(line: string): void
}

export interface Cluster extends AsyncDisposable {
  /** The edges' addresses; the first is the public one. */
  readonly edges: string[]
  /** Whose sign-in tokens the edges take. */
  readonly issuer: string
  /** The simulated backend's base address with its version. */
  readonly backendUrl: string
  readonly servers: { nats: Server; redis: Server; postgres: Server }
  /** By name: `edge-1`, `router-2`, `keys-1`, `metering-1`. */
  process(name: string): SupervisedProcess
  readonly processes: SupervisedProcess[]
}

const ROOT = resolve(import.meta.dirname, '../../..')

/** Resolves when every process is ready. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir, log = () => {} } = options
  await using opening = new AsyncDisposableStack()
  await openDataFolder(dataDir)
  const logDir = join(dataDir, 'logs')
  await mkdir(logDir, { recursive: true })
  await mkdir(join(dataDir, 'cluster'), { recursive: true })
  opening.use(await ownFolder(join(dataDir, 'cluster')))
  const record = join(dataDir, 'cluster.json')
  await endLeftovers(record, log)
  await requireFree(options.port, options.host)
  const servers = await openServers(options, opening)
  const plans = planProcesses({
    ...options,
    logDir,
    issuerPort: await chooseIssuerPort(options.port),
    ports: await freePorts(2 * (options.edges + options.routers + 2 * (options.keepers ?? 1)) + 2),
    urls: { nats: servers.nats.url, redis: servers.redis.url, postgres: servers.postgres.url },
    natsPasswords: options.natsUsers?.passwords,
    masterSecret: process.env['KEYS_MASTER_SECRET'] || (await keepMasterSecret(dataDir)),
  })

  const supervised: SupervisedProcess[] = []
  const recorder = recordCluster(record, () => describe(supervised, servers), log)
  const onChange = (event: string) => {
    log(event)
    void recorder.record()
  }
  opening.defer(() => recorder.remove())
  for (const server of Object.entries(servers)) opening.use(keepServerRunning(...server, onChange))
  // All at once, since each waits for its dependencies; stopped wave by wave, in reverse.
  for (const wave of await prepareAll(plans.waves, options)) {
    const starting = wave.map((plan) => supervise(plan, ROOT, onChange))
    supervised.push(...starting)
    opening.defer(async () => void (await Promise.all(starting.map((process) => process.stop()))))
  }
  await Promise.all(supervised.map((process) => process.ready()))
  await recorder.record()

  const opened = opening.move()
  return {
    edges: supervised.filter(({ plan }) => plan.service === 'edge').map(({ plan }) => plan.url),
    issuer: plans.issuer,
    backendUrl: plans.backendUrl,
    servers,
    processes: supervised,
    process(name) {
      const found = supervised.find(({ plan }) => plan.name === name)
      if (!found) throw new Error(`the cluster has no ${name}`)
      return found
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function prepareAll(waves: ProcessPlan[][], { prepare }: ClusterOptions): Promise<ProcessPlan[][]> {
  return Promise.all(waves.map((wave) => Promise.all(wave.map(async (plan) => prepare?.(plan) ?? plan))))
}

async function openServers(options: ClusterOptions, opening: AsyncDisposableStack) {
  const { dataDir, ownServers = false, natsUsers } = options
  const at = (name: string) => ({ own: ownServers, directory: join(dataDir, 'cluster', name), durable: true })
  const [nats, redis, postgres] = await Promise.all([
    startNats({ ...at('nats'), ...(natsUsers && { accounts: natsUsers.accounts }) }),
    startRedis(at('redis')),
    startPostgres(at('postgres')),
  ])
  for (const server of [postgres, redis, nats]) opening.use(server)
  return { nats, redis, postgres }
}

async function requireFree(port: number | undefined, host: string | undefined): Promise<void> {
  if (!port || (await isFree(port, host))) return
  const message = `${port} is taken by another process; set it to a free port`
  throw new EnvironmentError([{ variable: 'PORT', message }])
}

/** Two above the gateway's, as in `npm start`: the issuer, and with it everybody's account, stays from start to start. */
async function chooseIssuerPort(port: number | undefined): Promise<number | undefined> {
  return port && (await isFree(port + 2)) ? port + 2 : undefined
}

/** A backend and an identity provider to try the gateway with run beside its own processes. */
const FIXTURES = new Set(['backend', 'identity-provider'])

function describe(supervised: SupervisedProcess[], servers: Record<string, Server>) {
  const entries = supervised.map(({ plan, pid }) => {
    return { name: plan.name, service: plan.service, pid: pid ?? null, url: plan.url, healthUrl: plan.healthUrl }
  })
  return {
    processes: entries.filter(({ service }) => !FIXTURES.has(service)),
    fixtures: entries.filter(({ service }) => FIXTURES.has(service)),
    servers: Object.fromEntries(
      Object.entries(servers).map(([name, server]) => [name, { url: server.url, pid: server.pid ?? null }]),
    ),
  }
}
