/**
 * The gateway as a cluster of real processes on servers of its own, before backends that a test breaks at will. It
 * shows a test the backends' calls and the ledger's rows.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { usageConsumers, usageStream } from '@gateway/contracts/subjects'
import { requestJetStream } from '@gateway/testing/call-jetstream'
import { type Backend, type BackendCall, type Fault, startBackend } from '@gateway/stand-ins/backend'
import { type Cluster, startCluster } from '@gateway/cluster/start'
import { type EndlessBackend, startEndlessBackend } from '@gateway/stand-ins/endless-backend'
import { expect } from 'vitest'
import { type Caller, newDeveloper } from '../promises/gateway.ts'
import { requestChat } from './request-chat.ts'
import { configOver, type Lane, type LaneGroup, openLanes, WARM_UP_MODEL } from './lanes.ts'

export interface Stage extends AsyncDisposable {
  readonly cluster: Cluster
  readonly caller: Caller
  readonly edges: readonly [string, string]
  /** Plays every backend but that of the group `endless`. */
  readonly backend: Backend
  readonly endless: EndlessBackend
  /** One that nobody has used yet. */
  lane(group?: LaneGroup): Lane
  fail(backend: string, fault: Fault): void
  /** The calls of the lane's backends, in order of arrival. */
  calls(lane: Lane): BackendCall[]
  /** The ledger's row of a request, as soon as there is one. */
  row(requestId: string): Promise<LedgerRow>
  /** The ledger's rows of a lane, once nothing that was reported is still on its way. */
  rows(lane: Lane): Promise<LedgerRow[]>
}

export interface LedgerRow {
  requestId: string
  reporter: 'edge' | 'router'
  backend: string
  promptTokens: number
  completionTokens: number
  estimated: boolean
  charge: number
  outcome: string
  delivered: boolean
}

/** For events that follow within seconds, on a machine that may be busy. */
export const SOON = { timeout: 60_000, interval: 50 }

export async function startStage(): Promise<Stage> {
  await using opening = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'gateway-faults-'))
  opening.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  const backend = opening.use(await startBackend())
  const endless = opening.use(await startEndlessBackend())
  const config = join(directory, 'gateway.yaml')
  // JSON is YAML.
  const dead = `http://127.0.0.1:${await freePort()}/v1`
  await writeFile(config, JSON.stringify(configOver({ backend: backend.url, endless: endless.url, dead })))
  const environment = { GATEWAY_CONFIG: config, TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn' }
  const cluster = opening.use(
    await startCluster({ edges: 2, routers: 2, dataDir: join(directory, 'data'), ownServers: true, environment }),
  )
  const database = opening.use(await openDatabase(cluster.servers.postgres.url))
  const edges = cluster.edges as [string, string]
  const caller = await newDeveloper({ urls: edges, issuer: cluster.issuer })
  await warmUp(edges, caller.key)
  const opened = opening.move()
  return {
    cluster,
    caller,
    edges,
    backend,
    endless,
    lane: openLanes(),
    fail: (name, fault) => void backend.fail({ backend: name, ...fault }),
    calls: ({ first, second }) => backend.calls.filter((call) => call.backend === first || call.backend === second),
    async row(requestId) {
      const find = () => readRows(database, 'request_id = $1::uuid', requestId)
      await expect.poll(find, SOON).toHaveLength(1)
      return (await find())[0]!
    },
    async rows({ model }) {
      await expect.poll(() => eventsUnderWay(cluster.servers.nats.url), SOON).toBe(0)
      return readRows(database, 'lane = $1', model)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const WARM_UP_REQUESTS = 60

/** A process' first requests are slow; a router that has not accepted within 250 ms loses a job to another. */
async function warmUp(edges: readonly string[], key: string): Promise<void> {
  for (let sent = 0; sent < WARM_UP_REQUESTS; sent += 4) {
    const requested = [0, 1, 2, 3].map((at) =>
      requestChat({ url: edges[at % 2]!, key, model: WARM_UP_MODEL, stream: at < 2 }),
    )
    for (const { over } of requested) {
      const { error } = await over
      if (error) throw new Error('the cluster does not respond', { cause: error })
    }
  }
}

async function eventsUnderWay(natsUrl: string): Promise<number> {
  const call = `CONSUMER.INFO.${usageStream.name}.${usageConsumers.metering}`
  const info = await requestJetStream<{ num_pending: number; num_ack_pending: number }>(natsUrl, call)
  return info.num_pending + info.num_ack_pending
}

async function readRows(database: Database, condition: string, value: string): Promise<LedgerRow[]> {
  const { rows } = await database.query<LedgerRow>(
    `select request_id as "requestId", case rank when 2 then 'edge' else 'router' end as reporter, backend,
       prompt_tokens as "promptTokens", completion_tokens as "completionTokens", estimated, charge, outcome, delivered
     from metering.ledger where ${condition}`,
    [value],
  )
  return rows
}
