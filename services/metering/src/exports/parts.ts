/**
 * The queue of an export in PostgreSQL: notes of rows, the part that is made of them, and its rows as they were.
 *
 * Notes commit with their rows (`015-exports.sql`). Making a part moves notes into it in one transaction. It stays until its file is
 * complete. So after a kill the same rows go into the same file again. The export's row is locked by each change of its queue, so
 * two processes never make or complete the same part twice.
 */

import { sql, type Transaction } from 'kysely'
import type { MeteringDatabase, MeteringTables } from '../db/tables.ts'
import { correctingEntries, type Entry, type FileOfDay, type LedgerRow, originalEntry } from './core/entries.ts'
import { type Clock, type Pending, planPart, type Step } from './core/plan-part.ts'

export interface Part extends FileOfDay {
  number: number
  requestIds: string[]
}

export interface PartBounds {
  mostRows: number
  clock: Clock
  /** Rows do not wait for the end of their day. */
  isEager: boolean
}

/** Notes hold the rows of a statement: some dozens, or a page of those from before the export. */
const NOTES_AT_A_TIME = 100
const ROWS_AT_A_TIME = 2_000

interface Position {
  part: number
  closedThrough: string | null
  isRequested: boolean
}

/** The part whose file is not known to be complete. */
export async function readPart(database: MeteringDatabase, queue: string): Promise<Part | null> {
  const { rows } = await sql<Part>`
    select part as number, day::text as day, closed_through::text as "closedThrough", request_ids::text[] as "requestIds"
    from metering.export_parts where queue = ${queue} order by part limit 1`.execute(database)
  return rows[0] ?? null
}

/** Makes the next part, or closes days without rows. Returns false where neither is due. */
export function makePart(database: MeteringDatabase, queue: string, bounds: PartBounds): Promise<boolean> {
  return database.transaction().execute(async (transaction) => {
    const position = await lockPosition(transaction, queue)
    if (position === null || (await readPart(transaction, queue)) !== null) return position !== null
    const pending = await readPending(transaction, queue, position, bounds.clock)
    const step = planPart(pending, bounds.clock, {
      ...bounds,
      isRequested: position.isRequested || bounds.isEager,
    })
    if (step.kind === 'close') await closeDay(transaction, queue, step.day)
    if (step.kind !== 'part') return await goOn(step.kind === 'close')
    const { isEmpty, isExhausted } = await writePart(transaction, queue, position, step, bounds)
    if (step.isLast && isExhausted) await closeDay(transaction, queue, step.day)
    return await goOn(step.isLast || !isEmpty)

    /** Nothing is left to do: neither is an operator's request. */
    async function goOn(does: boolean): Promise<boolean> {
      if (!does && position?.isRequested) {
        await sql`update metering.exports set run_requested_at = null where queue = ${queue}`.execute(transaction)
      }
      return does
    }
  })
}

async function lockPosition(transaction: Transaction<MeteringTables>, queue: string): Promise<Position | null> {
  const { rows } = await sql<Position>`
    select part, closed_through::text as "closedThrough", run_requested_at is not null as "isRequested"
    from metering.exports where queue = ${queue} and has_begun for update`.execute(transaction)
  return rows[0] ?? null
}

async function readPending(
  database: MeteringDatabase,
  queue: string,
  { closedThrough }: Pick<Position, 'closedThrough'>,
  { today }: Clock,
): Promise<Pending> {
  const { rows } = await sql<Pending>`
    with days as (
      select day, sum(cardinality(request_ids))::bigint as rows from metering.export_notes where queue = ${queue} group by day
    ),
    open as (
      select min(day) as day from days
      where day > coalesce(${closedThrough}::date, '-infinity') and day <= ${today}::date
    )
    select ${closedThrough}::text as "closedThrough", open.day::text as "openDay",
      coalesce((select sum(rows) from days where day = open.day), 0)::bigint as rows,
      coalesce(
        (select sum(rows) from days where day > ${today}::date or day <= ${closedThrough}::date), 0
      )::bigint as others,
      (select count(*) from metering.export_changes where queue = ${queue} and part is null) as corrections
    from open`.execute(database)
  return rows[0]!
}

/** Makes none of nothing: a correction may still wait for the part of its row. */
async function writePart(
  transaction: Transaction<MeteringTables>,
  queue: string,
  { part, closedThrough }: Position,
  { day }: Extract<Step, { kind: 'part' }>,
  { mostRows, clock }: PartBounds,
): Promise<{ isEmpty: boolean; isExhausted: boolean }> {
  const number = part + 1
  const requestIds: string[] = []
  let taken: string[]
  do {
    taken = await takeNotes(transaction, queue, { day, closedThrough, today: clock.today })
    for (const requestId of taken) requestIds.push(requestId)
  } while (taken.length > 0 && requestIds.length < mostRows)
  const changes = await takeChanges(transaction, queue, { number, requestIds, atMost: mostRows })
  const isEmpty = requestIds.length + changes === 0
  if (!isEmpty) {
    await sql`
      insert into metering.export_parts (queue, part, day, closed_through, request_ids)
      values (${queue}, ${number}, ${day}, ${closedThrough}, ${requestIds.sort()}::uuid[])`.execute(transaction)
    await sql`update metering.exports set part = ${number} where queue = ${queue}`.execute(transaction)
  }
  return { isEmpty, isExhausted: taken.length === 0 }
}

async function takeNotes(
  transaction: Transaction<MeteringTables>,
  queue: string,
  { day, closedThrough, today }: { day: string; closedThrough: string | null; today: string },
): Promise<string[]> {
  const { rows } = await sql<{ requestIds: string[] }>`
    delete from metering.export_notes where ctid = any(array(
      select ctid from metering.export_notes
      where queue = ${queue} and (day = ${day}::date or day <= ${closedThrough}::date or day > ${today}::date)
      limit ${NOTES_AT_A_TIME}
    )) returning request_ids::text[] as "requestIds"`.execute(transaction)
  return rows.flatMap(({ requestIds }) => requestIds)
}

/**
 * A change of a row that goes into this very part needs no correction: the row goes as it is now. Others are corrected once their
 * row has its part. The note of a row commits before any change of it, so one statement sees the note with the change. Returns the
 * number of changes that the part corrects.
 */
async function takeChanges(
  transaction: Transaction<MeteringTables>,
  queue: string,
  { number, requestIds, atMost }: { number: number; requestIds: readonly string[]; atMost: number },
): Promise<number> {
  const { rows } = await sql<{ exist: boolean }>`
    select exists (select from metering.export_changes where queue = ${queue} and part is null) as exist`.execute(
    transaction,
  )
  if (!rows[0]!.exist) return 0
  await sql`
    delete from metering.export_changes change using unnest(${requestIds}::uuid[]) as taken (request_id)
    where change.queue = ${queue} and change.request_id = taken.request_id`.execute(transaction)
  const { rows: marked } = await sql`
    update metering.export_changes set part = ${number} where id = any(array(
      select id from metering.export_changes
      where queue = ${queue} and part is null
        and request_id not in (select unnest(request_ids) from metering.export_notes where queue = ${queue})
      order by id limit ${atMost}
    )) returning id`.execute(transaction)
  return marked.length
}

async function closeDay(transaction: Transaction<MeteringTables>, queue: string, day: string): Promise<void> {
  await sql`update metering.exports set closed_through = ${day} where queue = ${queue}`.execute(transaction)
}

/** The rows of a part are no longer in the ledger. */
export class MissingRowsError extends Error {
  override name = 'MissingRowsError'
  constructor(missing: number) {
    super(
      `${missing} rows that were still to be exported are no longer in metering.ledger; attach their partition again`,
    )
  }
}

/** The rows in the order of their requests, then the corrections of former files in the order of their changes. */
export async function* readEntries(database: MeteringDatabase, queue: string, part: Part): AsyncGenerator<Entry[]> {
  for (let start = 0; start < part.requestIds.length; start += ROWS_AT_A_TIME) {
    const requestIds = part.requestIds.slice(start, start + ROWS_AT_A_TIME)
    const rows = await readRows(database, queue, requestIds)
    if (rows.length < requestIds.length) throw new MissingRowsError(requestIds.length - rows.length)
    yield rows.map((row) => originalEntry(row, part))
  }
  for (let after = 0; ;) {
    const changes = await readChanges(database, queue, part.number, after)
    if (changes.length === 0) return
    const complete = changes.filter((change): change is Change => change.latter !== null)
    if (complete.length < changes.length) throw new MissingRowsError(changes.length - complete.length)
    yield complete.flatMap((change) => correctingEntries(change, part))
    after = changes.at(-1)!.id
  }
}

/** Each as it was before its first change since the part was made. */
async function readRows(
  database: MeteringDatabase,
  queue: string,
  requestIds: readonly string[],
): Promise<LedgerRow[]> {
  const { rows } = await sql<{ row: LedgerRow }>`
    select coalesce(
      (
        select former from metering.export_changes change
        where change.queue = ${queue} and change.request_id = ledger.request_id order by change.id limit 1
      ),
      to_jsonb(ledger)
    ) as row
    from metering.ledger
    where request_id = any(${requestIds}::uuid[])
      and request_id between ${requestIds[0]}::uuid and ${requestIds.at(-1)}::uuid
    order by request_id`.execute(database)
  return rows.map(({ row }) => row)
}

interface Change {
  id: number
  former: LedgerRow
  /** As it was before the next change. */
  latter: LedgerRow
}

async function readChanges(
  database: MeteringDatabase,
  queue: string,
  part: number,
  after: number,
): Promise<(Change | (Omit<Change, 'latter'> & { latter: null }))[]> {
  const { rows } = await sql<Change>`
    select id, former, coalesce(
      (
        select next.former from metering.export_changes next
        where next.queue = change.queue and next.request_id = change.request_id and next.id > change.id
        order by next.id limit 1
      ),
      (select to_jsonb(ledger) from metering.ledger where ledger.request_id = change.request_id)
    ) as latter
    from metering.export_changes change
    where queue = ${queue} and part = ${part} and id > ${after} order by id limit ${ROWS_AT_A_TIME}`.execute(database)
  return rows
}

export interface Written {
  file: string
  rows: number
  corrections: number
}

/** Notes that the part's file is complete. Returns false where another process did. */
export function completePart(
  database: MeteringDatabase,
  queue: string,
  part: Part,
  { file, rows: count, corrections }: Written,
): Promise<boolean> {
  return database.transaction().execute(async (transaction) => {
    const { rows } = await sql`
      delete from metering.export_parts where queue = ${queue} and part = ${part.number} returning part`.execute(
      transaction,
    )
    if (rows.length === 0) return false
    await sql`delete from metering.export_changes where queue = ${queue} and part = ${part.number}`.execute(transaction)
    await sql`
      update metering.exports set last_file = ${file}, last_written_at = now(), files = files + 1,
        rows = rows + ${count}, corrections = corrections + ${corrections}, last_error = null, failed_at = null
      where queue = ${queue}`.execute(transaction)
    return true
  })
}
