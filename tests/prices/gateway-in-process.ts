/**
 * The whole gateway in this process, on the default configuration and a PostgreSQL of its own. Tests of prices reach
 * the ledger, the backend's log, and an operator's request to change a plan.
 */

import { randomUUID } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { parseKey } from '@gateway/contracts/api-key'
import { SIMULATED_BACKEND_VARIABLE } from '@gateway/contracts/default-config'
import type { AccountReply } from '@gateway/contracts/accounts-api'
import type { Written } from '@gateway/contracts/bus-roles'
import { usageStream } from '@gateway/contracts/subjects'
import type { Price } from '@gateway/contracts/usage'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { type Database, openDatabase } from '@gateway/postgres/database'
import { openMemoryIdempotency } from '@gateway/idempotency/memory'
import { openConfigSource } from '@gateway/config/config-source'
import { createLogger } from '@gateway/telemetry/logger'
import { rpcClient } from '@gateway/rpc/client'
import { type Backend, startBackend } from '@gateway/stand-ins/backend'
import { startIdentityProvider } from '@gateway/stand-ins/identity-provider'
import { createTestDatabase } from '@gateway/servers/start'
import type { Routes } from '../../services/edge/src/create-app.ts'
import { loadEdgeSettings, startEdge } from '../../services/edge/src/start.ts'
import { startKeys, URGENT_CONNECTIONS } from '../../services/keys/src/start.ts'
import { startMetering } from '../../services/metering/src/start.ts'
import { startRouter } from '../../services/router/src/start.ts'
import { type Address, mintGuest, newDeveloper } from '../promises/gateway.ts'

type AccountChange = 'keysSetPlan' | 'keysTopUp'

export interface GatewayInProcess extends Address, AsyncDisposable {
  readonly url: string
  readonly backend: Backend
  /** The key of a new account that holds the plan. */
  newKey(plan: string): Promise<string>
  ledgerRow(requestId: string): Promise<LedgerRow | undefined>
  /** Sends a request as an operator does, about an account. */
  operate<Name extends AccountChange>(change: Name, question: Written<Name, 'request'>): Promise<void>
  /** Replaces the config file; the default sections stand where it names none. */
  configure(file: object): Promise<void>
}

export interface LedgerRow {
  window: string
  plan: string
  unit: string
  model_asked: string
  lane: string
  pool: string
  prompt_tokens: number
  completion_tokens: number
  cached_tokens: number
  reasoning_tokens: number
  price: Price
  audio_prompt_tokens: number
  estimated: boolean
  charge: number
  tool_calls: Record<string, number>
  vendor_cost_nano_usd: number | null
}

const AUDIENCE = 'http://prices.test'

export async function startGatewayInProcess({ routes }: { routes?: Routes } = {}): Promise<GatewayInProcess> {
  await using opening = new AsyncDisposableStack()
  const logger = createLogger({ service: 'prices', level: 'silent' })
  const directory = await mkdtemp(join(tmpdir(), 'prices-'))
  opening.defer(() => rm(directory, { recursive: true }))
  const path = join(directory, 'gateway.yaml')
  await writeFile(path, '{}')
  const config = opening.use(await openConfigSource({ path, logger }))
  const backend = opening.use(await startBackend())
  const { url: databaseUrl } = opening.use(await createTestDatabase())
  const database = opening.use(await openDatabase(databaseUrl))
  const urgent = opening.use(await openDatabase(databaseUrl, { poolSize: URGENT_CONNECTIONS }))
  const port = await freePort()
  const consoleUrl = `http://127.0.0.1:${port}/console`
  const provider = opening.use(await startIdentityProvider({ audience: AUDIENCE, consoleUrl }))
  const admission = opening.use(openMemoryAdmission())
  const idempotency = opening.use(openMemoryIdempotency())
  const hub = createMemoryHub({ streams: [usageStream] })
  const openBus = async () => opening.use(await openMemoryBus({ hub }))

  opening.use(await startMetering({ bus: await openBus(), admission, databaseUrl, database, logger }))
  const masterSecret = randomUUID() + randomUUID()
  const stored = { databaseUrl, database, urgent, masterSecret }
  opening.use(await startKeys({ bus: await openBus(), admission, config, logger, ...stored }))
  const environment = { [SIMULATED_BACKEND_VARIABLE]: backend.url }
  opening.use(await startRouter({ bus: await openBus(), config, environment, logger }))
  const signIn = { issuer: provider.issuer, audience: AUDIENCE }
  const settings = { ...loadEdgeSettings({ PORT: String(port), TRUST_PROXY: 'loopback' }), signIn }
  const parts = { bus: await openBus(), admission, idempotency, config, settings, logger }
  const edge = opening.use(await startEdge(parts, routes))
  const operatorBus = await openBus()
  const operate: GatewayInProcess['operate'] = async (change, question) => {
    const reply: AccountReply = await rpcClient('ctl', operatorBus).request(change, question, { timeoutMs: 5_000 })
    if (reply.kind !== 'account') throw new Error(`${change} was not done: ${reply.kind}`)
  }

  const opened = opening.move()
  const address: Address = { urls: [edge.url], issuer: provider.issuer }
  return {
    ...address,
    url: edge.url,
    backend,
    newKey: (plan) => (plan === 'guest-device' ? newGuestKey(address) : newKeyOn(plan, address, operate)),
    operate,
    ledgerRow: (requestId) => readRow(database, requestId),
    async configure(file) {
      await writeFile(`${path}.new`, JSON.stringify(file))
      await rename(`${path}.new`, path)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function newGuestKey(address: Address): Promise<string> {
  const { key } = (await (await mintGuest(address, randomUUID())).json()) as { key: string }
  return key
}

async function newKeyOn(plan: string, address: Address, operate: GatewayInProcess['operate']): Promise<string> {
  const { key } = await newDeveloper(address)
  await operate('keysSetPlan', { subject: parseKey(key)!.accountTag, plan })
  return key
}

async function readRow(database: Database, requestId: string): Promise<LedgerRow | undefined> {
  const { rows } = await database.query<LedgerRow>('select * from metering.ledger where request_id = $1', [requestId])
  return rows[0]
}
