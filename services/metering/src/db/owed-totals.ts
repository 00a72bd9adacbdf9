/**
 * Totals that the admission store could not be told of. A note names the window and the requests; the total itself is
 * read when the note is delivered, so that it is never older than the requests it is said to include.
 */

import type { Database, Queryable } from '@gateway/postgres/database'
import { windowKey, type WindowReports } from '../core/merge-reports.ts'
import { readTotals, type WindowTotal } from './windows.ts'

const NOTES_AT_A_TIME = 200

export async function noteOwed(database: Queryable, owed: readonly WindowReports[]): Promise<void> {
  const notes = owed.map(({ account, window, included }) => ({ account, window, included }))
  await database.query(
    `insert into metering.owed_totals (account, "window", included)
     select account, "window", included
     from jsonb_to_recordset($1::jsonb) as note (account text, "window" text, included jsonb)`,
    [JSON.stringify(notes)],
  )
}

/** Delivers some notes, each by one process only, and forgets those that were taken. */
export async function deliverOwed(
  database: Database,
  tell: (settled: WindowTotal & WindowReports) => Promise<void>,
): Promise<{ delivered: number; failure: unknown }> {
  return database.transaction(async (transaction) => {
    const { rows: notes } = await transaction.query<WindowReports & { id: number }>(
      `select id, account, "window", included from metering.owed_totals
       order by id limit $1 for update skip locked`,
      [NOTES_AT_A_TIME],
    )
    if (notes.length === 0) return { delivered: 0, failure: null }
    const totals = await readCurrentTotals(transaction, notes)
    const told = await Promise.allSettled(totals.map(tell))
    const taken = notes.filter((_, index) => told[index]?.status === 'fulfilled').map(({ id }) => id)
    await transaction.query('delete from metering.owed_totals where id = any($1::bigint[])', [taken])
    const failed = told.find((outcome) => outcome.status === 'rejected')
    return { delivered: taken.length, failure: failed ? failed.reason : null }
  })
}

/** The totals as they are now, each with the requests that are to be released. */
export async function readCurrentTotals<Reports extends WindowReports>(
  database: Queryable,
  reports: readonly Reports[],
): Promise<(WindowTotal & Reports)[]> {
  const totals = new Map((await readTotals(database, reports)).map((total) => [windowKey(total), total]))
  return reports.map((report) => ({ settled: 0, version: 0, ...totals.get(windowKey(report)), ...report }))
}
