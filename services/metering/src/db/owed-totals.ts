/**
 * Totals that the admission store could not be told of. A note names the window and the requests; the total itself, and
 * the tokens of the requests, are read when the note is delivered, so that the total is never older than the requests
 * it is said to include.
 */

import type { IncludedRequest } from '@gateway/admission/port'
import { sql } from 'kysely'
import { windowKey } from '../core/reports.ts'
import { readRecorded, type RecordedRequest } from './ledger.ts'
import type { MeteringDatabase } from './tables.ts'
import { readTotals, type Settled } from './windows.ts'

const NOTES_AT_A_TIME = 200

/** Requests of an account in a window, by their ids. */
interface WindowRequests {
  account: string
  window: string
  included: string[]
}

export async function noteOwed(database: MeteringDatabase, owed: readonly Settled[]): Promise<void> {
  const notes = owed.map(({ account, window, included }) => {
    return { account, window, included: included.map(({ requestId }) => requestId) }
  })
  await sql`
    insert into metering.owed_totals (account, "window", included)
    select account, "window", included
    from jsonb_to_recordset(${JSON.stringify(notes)}::jsonb) as note (account text, "window" text, included jsonb)
  `.execute(database)
}

export interface Delivery {
  delivered: number
  failure: unknown
  /** The last note of these; null where no more may come after it. */
  last: number | null
}

/** Delivers some notes that come after this one, each by one process only, and forgets those that were taken. */
export async function deliverOwed(
  database: MeteringDatabase,
  after: number | null,
  tell: (settled: Settled) => Promise<void>,
): Promise<Delivery> {
  return database.transaction().execute(async (transaction) => {
    const notes = await transaction
      .selectFrom('metering.owed_totals')
      .select(['id', 'account', 'window', 'included'])
      .$narrowType<{ included: string[] }>()
      .where('id', '>', after ?? 0)
      .orderBy('id')
      .limit(NOTES_AT_A_TIME)
      .forUpdate()
      .skipLocked()
      .execute()
    if (notes.length === 0) return { delivered: 0, failure: null, last: null }
    const totals = await readCurrentTotals(transaction, notes)
    const told = await Promise.allSettled(totals.map(tell))
    const taken = notes.filter((_, index) => told[index]?.status === 'fulfilled').map(({ id }) => id)
    await transaction
      .deleteFrom('metering.owed_totals')
      .where('id', '=', sql<number>`any(${taken}::bigint[])`)
      .execute()
    const failed = told.find((outcome) => outcome.status === 'rejected')
    const last = notes.length < NOTES_AT_A_TIME ? null : notes.at(-1)!.id
    return { delivered: taken.length, failure: failed ? failed.reason : null, last }
  })
}

/** The totals as they are now, each with the requests that are to be released. */
export async function readCurrentTotals(
  database: MeteringDatabase,
  reports: readonly WindowRequests[],
): Promise<Settled[]> {
  if (reports.length === 0) return []
  // First the totals: what is read of a request is then never older than the total's version.
  const totals = new Map((await readTotals(database, reports)).map((total) => [windowKey(total), total]))
  const recorded = await readRecorded(
    database,
    reports.flatMap(({ included }) => included),
  )
  return reports.map(({ account, window, included }) => {
    const total = totals.get(windowKey({ account, window })) ?? { account, window, settled: 0, version: 0 }
    return { ...total, included: included.map((requestId) => includedRequest(requestId, account, recorded)) }
  })
}

/** A row of another account says nothing of a request of this one. */
function includedRequest(
  requestId: string,
  account: string,
  recorded: ReadonlyMap<string, RecordedRequest>,
): IncludedRequest {
  const row = recorded.get(requestId.toLowerCase())
  return row?.account === account ? { requestId, tokens: row.tokens, mayChange: row.mayChange } : { requestId }
}
