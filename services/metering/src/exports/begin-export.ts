/**
 * Begins an export with the rows that the ledger has, and forgets exports that no config names any more.
 *
 * The notes of new rows begin when the export's row commits. The rows from before come from a snapshot. It is taken while a lock keeps
 * all writers out, just before that commit. So each row is in the snapshot or has a note, and none has both. Where a process dies on
 * the way, the next one begins with a new queue.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql, type Transaction } from 'kysely'
import type { MeteringDatabase, MeteringTables } from '../db/tables.ts'

/** All who write to the ledger wait behind the lock. */
const LOCK_TIMEOUT_MS = 2_000
const ROWS_AT_A_TIME = 10_000
const FORGOTTEN_AFTER = '7 days'
const LEAST_ID = '00000000-0000-0000-0000-000000000000'

/** Of the config of this process. Other processes may run another one for a while. */
export async function nameExports(database: MeteringDatabase, ids: readonly string[]): Promise<void> {
  await sql`update metering.exports set named_at = now() where id = any(${ids}::text[])`.execute(database)
  await sql`delete from metering.exports where named_at < now() - ${FORGOTTEN_AFTER}::interval`.execute(database)
  for (const table of ['export_notes', 'export_changes', 'export_parts']) {
    await sql`
      delete from ${sql.table(`metering.${table}`)} where queue not in (select queue from metering.exports)`.execute(
      database,
    )
  }
}

/** Returns once rows have their notes. Only the holder of the lease begins an export. */
export async function beginExport(database: MeteringDatabase, id: string): Promise<void> {
  const queue = randomUUID()
  const locked = Promise.withResolvers<void>()
  const snapshot = Promise.withResolvers<void>()
  // Each of the two transactions fails where the other does. By then it may no longer wait for it.
  for (const { promise } of [locked, snapshot]) promise.catch(() => {})
  const noting = noteFromNowOn(database, { id, queue, locked: locked.resolve, snapshot: snapshot.promise })
  noting.catch(locked.reject)
  const copying = locked.promise.then(() => copyRows(database, { id, queue, taken: snapshot.resolve, noting }))
  copying.catch(snapshot.reject)
  await Promise.all([noting, copying])
}

function noteFromNowOn(
  database: MeteringDatabase,
  { id, queue, locked, snapshot }: { id: string; queue: string; locked(): void; snapshot: Promise<void> },
): Promise<void> {
  return database.transaction().execute(async (transaction) => {
    await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(transaction)
    await sql`lock table only metering.ledger in share mode`.execute(transaction)
    await sql`update metering.exports set queue = ${queue}, is_noting = true where id = ${id}`.execute(transaction)
    locked()
    await snapshot
  })
}

async function copyRows(
  database: MeteringDatabase,
  { id, queue, taken, noting }: { id: string; queue: string; taken(): void; noting: Promise<void> },
): Promise<void> {
  await database
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (transaction) => {
      await sql`select from metering.ledger limit 1`.execute(transaction)
      taken()
      await noting
      let after: string | null = LEAST_ID
      while (after !== null) {
        after = await copyPage(transaction, queue, after)
        // Others use this process, too.
        await sleep(1)
      }
    })
  await sql`update metering.exports set has_begun = true where id = ${id} and queue = ${queue}`.execute(database)
}

/** Returns the last request of the page. */
async function copyPage(
  transaction: Transaction<MeteringTables>,
  queue: string,
  after: string,
): Promise<string | null> {
  const { rows } = await sql<{ last: string }>`
    with page as materialized (
      select request_id, metering.day_of(started_at, "window") as day from metering.ledger
      where request_id > ${after}::uuid order by request_id limit ${ROWS_AT_A_TIME}
    ),
    noted as (
      insert into metering.export_notes (queue, day, request_ids)
      select ${queue}, day, array_agg(request_id) from page group by day
    )
    select request_id::text as last from page order by request_id desc limit 1`.execute(transaction)
  return rows[0]?.last ?? null
}
