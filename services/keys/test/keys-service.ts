/**
 * The handlers of this service on a database of its own, with an admission store that can be away.
 */

import {
  AdmissionUnavailableError,
  type Admission,
  type EdgeAdmission,
  type KeysAdmission,
} from '@gateway/admission/port'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { AdministerRequest, AdministrationCredential } from '@gateway/contracts/administration/envelope'
import { parseKey } from '@gateway/contracts/api-key'
import type { MintKeyRequest } from '@gateway/contracts/developer-keys-api'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { migrate } from '@gateway/postgres/migrate'
import { openConfigSource } from '@gateway/config/config-source'
import { createLogger } from '@gateway/telemetry/logger'
import type { PostgresServer } from '@gateway/servers/start'
import { openAdministrationTurns } from '../src/administration-turns.ts'
import { startAnnouncer } from '../src/announce-changes.ts'
import { hashKey } from '../src/core/hashing.ts'
import { deriveMasterKeys } from '../src/core/master-keys.ts'
import { openDueWork } from '../src/due-work.ts'
import { readPepper } from '../src/db/pepper.ts'
import type { KeysTables } from '../src/db/tables.ts'
import { mintKey } from '../src/handlers/developer-keys.ts'
import { openLookUps } from '../src/gather-look-ups.ts'
import type { KeysContext } from '../src/keys-context.ts'
import { openMintRateLimiter } from '../src/mint-rate-limiter.ts'
import { URGENT_CONNECTIONS } from '../src/start.ts'
import { openRefusedSignIns } from '../src/refused-sign-ins.ts'
import { keyedMutex } from '../src/keyed-mutex.ts'

/** The memory adapter, and a switch that takes it away from keys. */
export interface TestAdmission extends KeysAdmission {
  away: boolean
  /** The admission store's decision on the key, as an edge receives it. */
  authenticate(key: string): ReturnType<EdgeAdmission['authenticate']>
  /** For edges and metering. It is never away. */
  store(): Admission
  /** The store loses everything. */
  forget(): void
  /** The store's clock, and time that passes on it. */
  nowMs(): number
  pass(ms: number): void
}

function openAdmission(): TestAdmission {
  let passedMs = 0
  const nowMs = () => Date.now() + passedMs
  const open = () => openMemoryAdmission({ now: nowMs })
  let store = open()
  const here = async (): Promise<void> => {
    if (switchable.away) throw new AdmissionUnavailableError('the store is away')
  }
  const switchable: TestAdmission = {
    away: false,
    authenticate: (key) => store.authenticate({ account: parseKey(key)!.accountTag, keyHash: hashOf(key) }),
    store: () => store,
    forget: () => void (store = open()),
    nowMs,
    pass: (ms) => void (passedMs += ms),
    currentWindow: (account) => here().then(() => store.currentWindow(account)),
    inspect: (account) => here().then(() => store.inspect(account)),
    fill: (account) => here().then(() => store.fill(account)),
    deactivate: (key) => here().then(() => store.deactivate(key)),
    closeAccount: (of) => here().then(() => store.closeAccount(of)),
  }
  return switchable
}

export const hashOf = (key: string): string => hashKey(key).toString('base64url')

export interface TestKeys extends KeysContext, AsyncDisposable {
  database: Database<KeysTables>
  admission: TestAdmission
}

export const MASTER_SECRET = 'b5f0a3c9e7d14286a1f0c3e5d7b92846'

export async function openKeysService(postgres: PostgresServer): Promise<TestKeys> {
  await using opening = new AsyncDisposableStack()
  const { url } = opening.use(await postgres.createDatabase())
  const database = opening.use(await openDatabase<KeysTables>(url))
  await migrate(url, { schema: 'keys', directory: `${import.meta.dirname}/../src/db/migrations` })
  const logger = createLogger({ service: 'keys', level: 'silent' })
  const masterKeys = deriveMasterKeys(MASTER_SECRET)
  const pepper = await readPepper(database, masterKeys)
  const config = opening.use(await openConfigSource({ logger }))
  const bus = opening.use(await openMemoryBus({ hub: createMemoryHub() }))
  const admission = openAdmission()
  const urgent = opening.use(await openDatabase(url, { poolSize: URGENT_CONNECTIONS }))
  const dueWork = opening.use(openDueWork({ bus, urgent, logger }))
  const changes = opening.use(startAnnouncer({ bus, admission, database, urgent, dueWork, config, logger }))
  const refusedSignIns = opening.use(openRefusedSignIns({ database, logger }))
  const opened = opening.move()
  return {
    bus,
    admission,
    database,
    urgent,
    inTurn: keyedMutex(),
    administrationTurns: openAdministrationTurns(),
    lookUps: openLookUps(database),
    mintRateLimiter: waitingMintRateLimiter(),
    refusedSignIns,
    config,
    masterKeys,
    pepper,
    changes,
    dueWork,
    logger,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** The credential and the origin of an administration call. */
export type TestCaller = Pick<AdministerRequest, 'credential' | 'origin'>

const ORIGIN = { requestId: '018f6f00-0000-7000-8000-000000000001', address: '203.0.113.7', userAgent: 'test/1' }
export const OPERATOR_CALL: TestCaller = { credential: { kind: 'operator' }, origin: ORIGIN }

type SignIn = Extract<AdministrationCredential, { kind: 'sign_in' }>

export function personCall(person: Partial<SignIn> & Pick<SignIn, 'subject'>): TestCaller {
  const claimed = { role: null, groups: [], hasRole: true, hasGroups: true }
  const unknown = { kind: 'sign_in' as const, issuer: 'https://id.example', ...claimed }
  return { credential: { ...unknown, ...person }, origin: ORIGIN }
}

/** The key of an owner whose account is not suspended. */
export async function minted(keys: KeysContext, request: MintKeyRequest) {
  const reply = await mintKey(keys, request)
  if (reply.kind === 'minted') return reply
  throw new Error('the account is suspended')
}

/** Its clock stands still, so that no request waits too long, even on a slow machine. */
export const waitingMintRateLimiter = () => openMintRateLimiter(() => 0)

export async function countRows(database: Database, table: 'accounts' | 'keys' | 'outbox'): Promise<number> {
  const { rows } = await database.query<{ count: number }>(`select count(*) as count from keys.${table}`)
  return rows[0]!.count
}
