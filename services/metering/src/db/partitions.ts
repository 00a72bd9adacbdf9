/**
 * The ledger's months, in UTC: a request belongs to the month in which its id was made. The current and the next two are made
 * ahead of time, others when the first row for them comes.
 *
 * Ids of an impossible time (more than two years back or two months ahead, or no UUIDv7 at all) stay in the default
 * partition: a clock gone wrong makes no thousand tables, and no report is refused. Rows that already lie in the default
 * partition move along when their month is made, so a request never has two rows.
 */

import { sql } from 'kysely'
import type { Logger } from '@gateway/telemetry/logger'
import { timeOfRequestMs } from '../core/reports.ts'
import type { MeteringDatabase } from './tables.ts'

const MONTHS_BACK = 24
const MONTHS_AHEAD = 2
const HOUR_MS = 3_600_000
const LOCK_TIMEOUT_MS = 2_000
/** Any number that nothing else in this database locks. */
const PARTITIONS_LOCK = 7_241_906_553

export interface Partitions {
  /** Makes the months of these requests, where they are missing. Costs nothing once they are there. */
  ensureFor(requestIds: readonly string[]): Promise<void>
  /** Makes the current month and the next ones. */
  ensureAhead(): Promise<void>
}

export function createPartitions(database: MeteringDatabase, now: () => number = Date.now): Partitions {
  const made = new Set<Month>()

  async function ensure(months: Iterable<Month>): Promise<void> {
    for (const month of months) {
      if (made.has(month)) continue
      await makeMonth(database, month)
      made.add(month)
    }
  }

  return {
    ensureFor(requestIds) {
      const current = monthOf(now())
      const first = addMonths(current, -MONTHS_BACK)
      const last = addMonths(current, MONTHS_AHEAD)
      const months = new Set(requestIds.map(monthOfRequest))
      return ensure([...months].filter((month) => month !== null && month >= first && month <= last) as Month[])
    },
    ensureAhead() {
      const current = monthOf(now())
      return ensure(Array.from({ length: MONTHS_AHEAD + 1 }, (_, index) => addMonths(current, index)))
    },
  }
}

async function makeMonth(database: MeteringDatabase, month: Month): Promise<void> {
  const name = `metering.ledger_${month.replace('-', '_')}`
  const partition = sql.raw(name)
  const from = leastRequestIdOf(month)
  const to = leastRequestIdOf(addMonths(month, 1))
  await database.transaction().execute(async (transaction) => {
    // A backup reads the ledger for long. All who use the ledger would wait behind this statement.
    await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(transaction)
    await sql`select pg_advisory_xact_lock(${PARTITIONS_LOCK})`.execute(transaction)
    const { rows } = await sql<{ exists: boolean }>`select to_regclass(${name}) is not null as exists`.execute(
      transaction,
    )
    if (rows[0]?.exists) return
    await sql`create table ${partition} (like metering.ledger including defaults including indexes)`.execute(
      transaction,
    )
    await sql`
      with moved as (
        delete from metering.ledger_elsewhen where request_id >= ${from} and request_id < ${to} returning *
      )
      insert into ${partition} select * from moved`.execute(transaction)
    await sql`
      alter table metering.ledger attach partition ${partition} for values from (${sql.lit(from)}) to (${sql.lit(to)})
    `.execute(transaction)
  })
}

/**
 * Begins at once. A failure is logged and tried again an hour later: the month is made at the latest with its first row.
 */
export async function keepPartitionsAhead(partitions: Partitions, logger: Logger): Promise<Disposable> {
  const ensureAhead = () =>
    partitions.ensureAhead().catch((error: unknown) => {
      logger.warn({ err: error }, 'the next months of the ledger could not be made')
    })
  await ensureAhead()
  const timer = setInterval(() => void ensureAhead(), HOUR_MS).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** A month of a calendar year in UTC, as windows are written: `2026-11`. */
type Month = string

export function monthOf(timeMs: number): Month {
  return new Date(timeMs).toISOString().slice(0, 7)
}

function startOfMonthMs(month: Month): number {
  return Date.parse(`${month}-01T00:00:00.000Z`)
}

export function addMonths(month: Month, count: number): Month {
  const start = new Date(startOfMonthMs(month))
  return monthOf(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + count, 1))
}

/**
 * The month in which a UUIDv7 was made; of any other UUID, the month of its first 48 bits, or null beyond the calendar.
 */
export function monthOfRequest(requestId: string): Month | null {
  const timeMs = timeOfRequestMs(requestId)
  return timeMs < Date.UTC(9999, 0) ? monthOf(timeMs) : null
}

/** The least UUID of this month: ids of the month lie from its bound up to the next month's. */
export function leastRequestIdOf(month: Month): string {
  const hex = startOfMonthMs(month).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
