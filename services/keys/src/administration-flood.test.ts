/**
 * Nobody takes keys down by calls of the administration API: a flood of reads that wait for a locked table, and of made-up admin keys.
 */

import { createHash, randomBytes } from 'node:crypto'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { administerReply, type AdministerReply } from '@gateway/contracts/administration/envelope'
import { parseKey } from '@gateway/contracts/api-key'
import { mintKeyReply } from '@gateway/contracts/developer-keys-api'
import { fillReply } from '@gateway/contracts/keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { openConfigSource } from '@gateway/config/config-source'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { createLogger } from '@gateway/telemetry/logger'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashOf, MASTER_SECRET, OPERATOR_CALL, personCall, type TestCaller } from '../test/keys-service.ts'
import { ROWS_PER_MINUTE } from './refused-sign-ins.ts'
import { startKeys, URGENT_CONNECTIONS } from './start.ts'

const READS = 400
const MADE_UP = 2_000
/** Longer than the test waits for any reply, and shorter than a statement may take. */
const WITHIN = { timeoutMs: 25_000 }

let postgres: PostgresServer
let running: AsyncDisposableStack
let parts: Awaited<ReturnType<typeof openParts>>
let besides: Database
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  parts = await openParts()
  running.use(await startKeys({ ...parts, masterSecret: MASTER_SECRET }))
})
afterEach(() => running.disposeAsync())

async function openParts() {
  const { url: databaseUrl } = running.use(await postgres.createDatabase())
  const database = running.use(await openDatabase(databaseUrl))
  const urgent = running.use(await openDatabase(databaseUrl, { poolSize: URGENT_CONNECTIONS }))
  besides = running.use(await openDatabase(databaseUrl))
  const logger = createLogger({ service: 'keys', level: 'silent' })
  const bus = running.use(await openMemoryBus({ hub: createMemoryHub() }))
  const config = running.use(await openConfigSource({ logger }))
  return { bus, databaseUrl, database, urgent, logger, config, admission: running.use(openMemoryAdmission()) }
}

async function request(subject: string, question: object): Promise<unknown> {
  const reply = await parts.bus.request(subject, Buffer.from(JSON.stringify(question)), WITHIN)
  return JSON.parse(Buffer.from(reply).toString())
}

async function administer(operation: string, input: object, by: TestCaller = OPERATOR_CALL): Promise<AdministerReply> {
  return administerReply.parse(await request(subjects.keysAdminister, { operation, input, ...by }))
}

async function outputOf(operation: string, input: object): Promise<Record<string, unknown>> {
  const reply = await administer(operation, input)
  expect(reply).toMatchObject({ kind: 'done' })
  return (reply as { output: Record<string, unknown> }).output
}

const adminKeyCall = (value: string, address = OPERATOR_CALL.origin.address): TestCaller => ({
  origin: { ...OPERATOR_CALL.origin, address },
  credential: { kind: 'admin_key', hash: createHash('sha256').update(value).digest('base64url') },
})

function countCodes(replies: readonly AdministerReply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const reply of replies) {
    const code = reply.kind === 'done' ? 'done' : reply.code
    counts[code] = (counts[code] ?? 0) + 1
  }
  return counts
}

test("a reader's flood of reads that wait for the database holds up no fill and no revoke; those beyond the queue are refused", async () => {
  const owner = { issuer: 'https://id.example', subject: 'ann' }
  const minted = mintKeyReply.parse(await request(subjects.keysMint, { owner }))
  const key = minted.kind === 'minted' ? minted.key : ''
  const { id: project_id } = await outputOf('projects.create', { name: 'search' })
  const { id: api_key_id } = await outputOf('apiKeys.create', { project_id, name: 'robot' })
  const admin = adminKeyCall(String((await outputOf('adminKeys.create', { name: 'platform' }))['value']))
  const reader = personCall({ subject: 'rita', role: 'reader' })
  expect(await administer('spendAlerts.list', {}, reader)).toMatchObject({ kind: 'done' })

  const locked = await besides.startTransaction().execute()
  await sql`lock table keys.spend_alerts in access exclusive mode`.execute(locked)
  const reads = Promise.all(Array.from({ length: READS }, () => administer('spendAlerts.list', {}, reader)))
  reads.catch(() => {})
  const fill = await request(subjects.keysFill, { account: parseKey(key)!.accountTag, keyHash: hashOf(key) })
  expect(fillReply.parse(fill)).toMatchObject({ kind: 'filled' })
  expect(await administer('apiKeys.delete', { project_id, api_key_id }, admin)).toMatchObject({ kind: 'done' })
  await locked.rollback().execute()

  const { done = 0, SERVICE_UNAVAILABLE: refused = 0 } = countCodes(await reads)
  expect(done).toBeGreaterThan(0)
  expect(refused).toBeGreaterThan(0)
  expect(done + refused).toBe(READS)
})

test('made-up admin keys from thousands of addresses are refused, with few rows in the audit log, and administrators go on', async () => {
  const admin = adminKeyCall(String((await outputOf('adminKeys.create', { name: 'platform' }))['value']))
  const neverSeen = adminKeyCall(String((await outputOf('adminKeys.create', { name: 'new' }))['value']))
  const { id: project_id } = await outputOf('projects.create', { name: 'search' })
  const { id: api_key_id } = await outputOf('apiKeys.create', { project_id, name: 'robot' })
  expect(await administer('projects.list', {}, admin)).toMatchObject({ kind: 'done' })
  const madeUp = Array.from({ length: MADE_UP }, (_, index) => {
    const by = adminKeyCall(randomBytes(32).toString('hex'), `198.51.${index >> 8}.${index & 255}`)
    return index % 2 === 0
      ? administer('projects.list', {}, by)
      : administer('apiKeys.delete', { project_id, api_key_id }, by)
  })
  expect(await administer('projects.list', {}, admin)).toMatchObject({ kind: 'done' })
  expect(await administer('apiKeys.delete', { project_id, api_key_id }, neverSeen)).toMatchObject({ kind: 'done' })
  expect(countCodes(await Promise.all(madeUp))).toEqual({ INVALID_KEY: MADE_UP })
  const { rows } = await besides.query("select from keys.audit_log where type = 'login.failed'")
  expect(rows.length).toBeLessThanOrEqual(2 * ROWS_PER_MINUTE)
})
