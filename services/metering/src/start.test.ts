import { createMemoryHub, openMemoryBus, type MemoryHub } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { quotaReply, warmReply } from '@gateway/contracts/metering-api'
import { subjects, usageStream } from '@gateway/contracts/subjects'
import { createLogger } from '@gateway/telemetry/logger'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordingAdmission, type RecordingAdmission } from '../test/ledger.ts'
import { messageOf, usageEvent, WINDOW } from '../test/usage-events.ts'
import { startMetering } from './start.ts'

let postgres: PostgresServer
let running: AsyncDisposableStack
let hub: MemoryHub
let bus: Bus
let databaseUrl: string
let database: Database
let admission: RecordingAdmission

beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  databaseUrl = running.use(await postgres.createDatabase()).url
  database = running.use(await openDatabase(databaseUrl))
  hub = createMemoryHub({ streams: [usageStream] })
  bus = running.use(await openMemoryBus({ hub }))
  admission = recordingAdmission()
  await startReplica()
})
afterEach(() => running.disposeAsync())

async function startReplica(): Promise<void> {
  const logger = createLogger({ service: 'metering', level: 'silent' })
  const replicaBus = running.use(await openMemoryBus({ hub }))
  running.use(await startMetering({ bus: replicaBus, admission, databaseUrl, database, logger }))
}

const ACCOUNT = usageEvent().account
const CHARGE = 150_000

const publish = (...events: object[]) =>
  bus.durable.publish(subjects.usage, messageOf(...events).payload, { timeoutMs: 10_000 })

async function request(subject: string, question: object): Promise<unknown> {
  const reply = await bus.request(subject, Buffer.from(JSON.stringify(question)), { timeoutMs: 10_000 })
  return JSON.parse(Buffer.from(reply).toString())
}

test('a published report is in the ledger, in the quota and in the admission store', async () => {
  await publish(usageEvent(), usageEvent())
  const quota = quotaReply.parse(await request(subjects.meteringQuota, { account: ACCOUNT, unit: 'tokens' }))
  expect(quota).toEqual({ used: 2 * CHARGE, window: WINDOW, resetAtMs: Date.parse('2025-02-01T00:00:00Z') })
  expect(admission.total(ACCOUNT)?.settled).toBe(2 * CHARGE)
})

test('an account that never sent a request has used nothing', async () => {
  expect(await request(subjects.meteringQuota, { account: 'nobody00', unit: 'usd' })).toMatchObject({ used: 0 })
})

test('metering serves the quota while the admission store is away', async () => {
  await publish(usageEvent({ window: new Date().toISOString().slice(0, 7) }))
  admission.away = true
  expect(await request(subjects.meteringQuota, { account: ACCOUNT, unit: 'tokens' })).toMatchObject({ used: CHARGE })
})

test('a store that has forgotten an account receives its total and version', async () => {
  await publish(usageEvent())
  await publish(usageEvent())
  admission.forget()
  warmReply.parse(await request(subjects.meteringWarm, { account: ACCOUNT }))
  expect(admission.total(ACCOUNT)).toEqual({ settled: 2 * CHARGE, version: 2 })
})

test('a new account is warmed with nothing used, so that its first request is admitted', async () => {
  await request(subjects.meteringWarm, { account: 'newcomer' })
  expect(admission.total('newcomer')).toEqual({ settled: 0, version: 0 })
})

test('a plan that counts in another unit starts from the usage in that unit', async () => {
  await publish(usageEvent())
  await request(subjects.meteringWarm, { account: ACCOUNT, unit: 'usd' })
  expect(admission.total(ACCOUNT)).toEqual({ settled: 0, version: 2 })

  // A request that began before the change ends after it: it counts in its own unit and leaves the new one alone.
  await publish(usageEvent())
  expect(admission.total(ACCOUNT)).toEqual({ settled: 0, version: 3 })
  expect(await request(subjects.meteringQuota, { account: ACCOUNT, unit: 'tokens' })).toMatchObject({
    used: 2 * CHARGE,
  })

  await request(subjects.meteringWarm, { account: ACCOUNT, unit: 'tokens' })
  expect(admission.total(ACCOUNT)).toEqual({ settled: 2 * CHARGE, version: 4 })
})

test('a long reading of the ledger, as of a backup, keeps no replica from starting', async () => {
  const reader = await openDatabase(databaseUrl, { poolSize: 1 })
  try {
    const newest = `select max(inhrelid::regclass::text) as name from pg_inherits
      where inhparent = 'metering.ledger'::regclass and inhrelid <> 'metering.ledger_elsewhen'::regclass`
    const { rows } = await database.query<{ name: string }>(newest)
    await database.query(`drop table ${rows[0]!.name}`)
    await reader.query('begin')
    await reader.query('select from metering.ledger')
    await startReplica()
    expect(await database.query(newest)).not.toMatchObject({ rows })
    await reader.query('rollback')
    await startReplica()
    expect(await database.query(newest)).toMatchObject({ rows })
  } finally {
    await reader.destroy()
  }
})

test('replicas share the work and charge each request once', async () => {
  await startReplica()
  const events = Array.from({ length: 100 }, () => usageEvent())
  await Promise.all(events.map((event) => publish(event, event)))
  await Promise.all(events.map((event) => publish(event)))
  expect(await request(subjects.meteringQuota, { account: ACCOUNT, unit: 'tokens' })).toMatchObject({
    used: 100 * CHARGE,
  })
  expect(admission.total(ACCOUNT)?.settled).toBe(100 * CHARGE)
})
