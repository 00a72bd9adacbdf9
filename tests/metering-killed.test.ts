/**
 * Metering is killed with SIGKILL again and again while reports come in, some of them several times and some from a
 * router before the edge's. Afterwards the ledger has each request once, every window is the sum of its rows, and the
 * admission store agrees, with nothing left pending.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { limitsWith } from '@gateway/admission/limits-for-tests'
import type { Admission } from '@gateway/admission/port'
import { openRedisAdmission } from '@gateway/admission/redis'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus } from '@gateway/bus/port'
import { subjects, usageStream } from '@gateway/contracts/subjects'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { startNats, startPostgres, startRedis } from '@gateway/servers/start'
import { expect, test } from 'vitest'
import { requestIdAt, usageEvent } from '../services/metering/test/usage-events.ts'
import { killProcess, startMetering } from './promises/metering-process.ts'

const KILLS = 6
const REQUESTS_PER_ROUND = 2_400
const ACCOUNTS = Array.from({ length: 20 }, (_, index) => `acct00${String(index).padStart(2, '0')}`)
const CHARGE_PER_TOKEN = 1500
/** Unacknowledged messages come again after ten seconds. */
const WAIT_MS = 60_000

test('metering killed under load loses no request and charges none twice', async () => {
  await using running = new AsyncDisposableStack()
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()])
  for (const server of [nats, redis, postgres]) running.use(server)
  const { url: databaseUrl } = running.use(await postgres.createDatabase())
  const database = running.use(await openDatabase(databaseUrl))
  const admission = running.use(await openRedisAdmission({ url: redis.url, timeoutMs: 5_000 }))
  const bus = running.use(await openNatsBus({ url: nats.url, name: 'test', streams: [usageStream] }))
  const environment = { NATS_URL: nats.url, REDIS_URL: redis.url, DATABASE_URL: databaseUrl }
  let metering = startMetering(environment, 'warn')
  running.defer(() => killProcess(metering))

  const { window } = await admission.currentWindow()
  for (const account of ACCOUNTS) await openAccount(admission, account, window)

  const published: Promise<void>[] = []
  const publish = (events: UsageEvent[]): void => void published.push(...publishReports(bus, events))
  const rowsAtKill: number[] = []
  let late: UsageEvent[] = []
  for (let round = 0; round < KILLS; round++) {
    const rowsBefore = await countRows(database)
    const events = await runRequests(admission, window)
    // Of every third request a router reports first and the edge a round later, so most are replaced in another batch.
    publish([...late, ...events.map(reportOfRound)])
    late = events.filter((_, index) => index % 3 === 0)
    await until(
      'rows come in',
      async () => (await countRows(database)) > rowsBefore + Math.random() * REQUESTS_PER_ROUND,
    )
    await killProcess(metering)
    rowsAtKill.push(await countRows(database))
    metering = startMetering(environment, 'warn')
  }
  publish([...late, ...late])
  await Promise.all(published)

  const requests = KILLS * REQUESTS_PER_ROUND
  expect(rowsAtKill.every((rows) => rows > 0 && rows < requests)).toBe(true)
  await until('every request is recorded', async () => (await countRows(database)) === requests)
  await until('every router has given way to the edge', async () => (await countRouterRows(database)) === 0)
  expect(await countReplaced(database)).toBeGreaterThan(requests / 20)
  await until('nothing is owed', async () => (await countOwed(database)) === 0)
  const sums = await readSums(database)
  expect(sums.map(({ account }) => account).sort()).toEqual([...ACCOUNTS].sort())
  for (const { account, sum, total } of sums) {
    expect({ account, total }).toEqual({ account, total: sum })
    await until(`the store agrees on ${account}`, async () => (await usedOf(admission, account)) === sum)
  }
  const charged = sums.reduce((all, { sum }) => all + sum, 0)
  expect(charged).toBe(requests * 100 * CHARGE_PER_TOKEN)
})

async function openAccount(admission: Admission, account: string, window: string): Promise<void> {
  const keys = [{ keyHash: 'key', version: 1, active: true }]
  await admission.fill({ account, version: 1, plan: 'free', overage: false, extra: 0, window, keys })
  await admission.warm({ account, window, settled: 0, version: 0 })
}

/** Admits and ends a round of requests, and returns the events that the edge has to report of them. */
async function runRequests(admission: Admission, window: string): Promise<UsageEvent[]> {
  const events = Array.from({ length: REQUESTS_PER_ROUND }, (_, index) => {
    const startedAtMs = Date.now() - (index % 1_000)
    const account = ACCOUNTS[index % ACCOUNTS.length]!
    return usageEvent({ requestId: requestIdAt(startedAtMs), account, window, startedAtMs })
  })
  await Promise.all(events.map((event) => runRequest(admission, event)))
  return events
}

function reportOfRound(event: UsageEvent, index: number): UsageEvent {
  return index % 3 === 0 ? { ...event, reporter: 'router', usage: { ...event.usage, promptTokens: 7 } } : event
}

/** In small messages, each event twice. */
function publishReports(bus: Bus, events: UsageEvent[]): Promise<void>[] {
  const reports = events.flatMap((event) => [event, event])
  const messages = Array.from({ length: Math.ceil(reports.length / 3) }, (_, index) =>
    reports.slice(index * 3, index * 3 + 3),
  )
  return messages.map((batch) =>
    bus.durable.publish(subjects.usage, Buffer.from(JSON.stringify({ v: 1, events: batch })), { timeoutMs: 60_000 }),
  )
}

async function runRequest(admission: Admission, { account, requestId, usage }: UsageEvent): Promise<void> {
  const reply = await admission.admit({
    requestId,
    account,
    keyHash: 'key',
    planHint: 'free',
    planIncludesModel: true,
    limits: limitsWith({ allowance: 1e15 }),
    usualTokens: 100,
    worstCharge: 1_000_000,
    leaseMs: 120_000,
  })
  if (reply.kind !== 'allow') throw new Error(`not admitted: ${JSON.stringify(reply)}`)
  const tokens = usage.promptTokens + usage.completionTokens
  await admission.finish({ account, requestId, charge: tokens * CHARGE_PER_TOKEN, tokens })
}

/** Returns the usage that the store holds against the allowance: settled, and pending. */
async function usedOf(admission: Admission, account: string): Promise<number | undefined> {
  const reply = await admission.authenticate({ account, keyHash: 'key' })
  return reply.kind === 'active' ? (reply.used ?? undefined) : undefined
}

async function countRows(database: Database): Promise<number> {
  const { rows } = await database.query<{ exists: boolean }>(
    "select to_regclass('metering.ledger') is not null as exists",
  )
  if (!rows[0]?.exists) return 0
  const counted = await database.query<{ count: number }>('select count(*) as count from metering.ledger')
  return counted.rows[0]!.count
}

async function countRouterRows(database: Database): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*) as count from metering.ledger where rank = 1',
  )
  return rows[0]!.count
}

/** Requests whose router's report was recorded before the edge's. */
async function countReplaced(database: Database): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(replaced_charge) as count from metering.ledger',
  )
  return rows[0]!.count
}

async function countOwed(database: Database): Promise<number> {
  const { rows } = await database.query<{ count: number }>('select count(*) as count from metering.owed_totals')
  return rows[0]!.count
}

async function readSums(database: Database): Promise<{ account: string; sum: number; total: number }[]> {
  const { rows } = await database.query<{ account: string; sum: number; total: number }>(
    `select account, sum(charge)::bigint as sum, (select milli_tokens from metering.windows w where w.account = ledger.account) as total
     from metering.ledger group by account`,
  )
  return rows
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const giveUpAtMs = performance.now() + WAIT_MS
  while (!(await holds())) {
    if (performance.now() > giveUpAtMs) throw new Error(`waited in vain until ${what}`)
    await sleep(5)
  }
}
