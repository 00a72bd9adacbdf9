/**
 * Nobody takes metering down by questions to the ledger: a flood of an administrator's reads, on a table that is locked.
 */

import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { administerReply, type AdministerReply } from '@gateway/contracts/administration/envelope'
import { overviewReply, warmReply } from '@gateway/contracts/metering-api'
import { subjects, usageStream } from '@gateway/contracts/subjects'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { createLogger } from '@gateway/telemetry/logger'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordingAdmission, type RecordingAdmission } from '../test/ledger.ts'
import { messageOf, usageEvent } from '../test/usage-events.ts'
import { startMetering } from './start.ts'

const READS = 400
/** Longer than the test waits for any reply, and shorter than a statement may take. */
const WITHIN = { timeoutMs: 25_000 }

let postgres: PostgresServer
let running: AsyncDisposableStack
let bus: Bus
let besides: Database
let admission: RecordingAdmission
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  const { url: databaseUrl } = running.use(await postgres.createDatabase())
  const database = running.use(await openDatabase(databaseUrl))
  besides = running.use(await openDatabase(databaseUrl, { poolSize: 1 }))
  bus = running.use(await openMemoryBus({ hub: createMemoryHub({ streams: [usageStream] }) }))
  admission = recordingAdmission()
  const logger = createLogger({ service: 'metering', level: 'silent' })
  running.use(await startMetering({ bus, admission, databaseUrl, database, logger }))
})
afterEach(() => running.disposeAsync())

async function request(subject: string, question: object): Promise<unknown> {
  const reply = await bus.request(subject, Buffer.from(JSON.stringify(question)), WITHIN)
  return JSON.parse(Buffer.from(reply).toString())
}

/** The sums of the whole organization by day. */
async function readDays(): Promise<AdministerReply> {
  const input = { start_time: '1736467200', limit: '7' }
  return administerReply.parse(await request(subjects.meteringAdminister, { operation: 'usage.completions', input }))
}

const publish = (...events: object[]) =>
  bus.durable.publish(subjects.usage, messageOf(...events).payload, { timeoutMs: WITHIN.timeoutMs })

test("an administrator's flood of reads that wait for the database holds up no report and no admission; those beyond the queue are refused", async () => {
  expect(await readDays()).toMatchObject({ kind: 'done' })
  const event = usageEvent()

  const locked = await besides.startTransaction().execute()
  await sql`lock table metering.usage_of_organization in access exclusive mode`.execute(locked)
  const reads = Promise.all(Array.from({ length: READS }, readDays))
  reads.catch(() => {})
  warmReply.parse(await request(subjects.meteringWarm, { account: 'newcomer' }))
  expect(admission.total('newcomer')).toEqual({ settled: 0, version: 0 })
  await publish(event)
  expect(admission.total(event.account)).toMatchObject({ version: 1 })
  await locked.rollback().execute()

  const replies = await reads
  const done = replies.filter(({ kind }) => kind === 'done')
  const refused = replies.filter(({ kind }) => kind === 'refused')
  expect([done.length > 0, refused.length > 0, done.length + refused.length]).toEqual([true, true, READS])
  for (const reply of refused) expect(reply).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterMs: 1_000 })
  expect(await readDays()).toMatchObject({ kind: 'done' })
  const overview = { from: 1_736_467_200, to: 1_736_553_600, bucketSeconds: 86_400, account: null, atMost: 5, also: [] }
  overviewReply.parse(await request(subjects.meteringOverview, overview))
})
