/**
 * Moves the notes of the ledger's triggers into the sums of usage (`010-usage.sql`). Usage by the minute is kept for a day, and by the
 * hour for 31 days.
 *
 * A part of the rows moves in each transaction. So a statement that reads notes and sums sees each change once, also after a kill. One process at a time moves them. While none does, readers add up more notes.
 */

import type { Logger } from '@gateway/telemetry/logger'
import { repeat } from '@gateway/service/repeat'
import { sql } from 'kysely'
import { KEPT_SECONDS } from '../core/usage-page.ts'
import type { MeteringDatabase } from './tables.ts'

/** Many requests of a key become one change of its sums meanwhile. */
const PAUSE_MS = 5_000
const HOURS_PAUSE_MS = 300_000
const NOTES_AT_A_TIME = 20_000
const MINUTES_AT_A_TIME = 5_000
/** Any number that nothing else in this database locks. */
const LOCK = 4_120_665

const SUMS = [
  'requests',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'audio_prompt_tokens',
  'cached_audio_tokens',
  'audio_completion_tokens',
  'units',
  'charge',
]
const SUMMED = SUMS.map((name) => `sum(${name})`).join(', ')
const ADDED = SUMS.map((name) => `${name} = held.${name} + excluded.${name}`).join(', ')

/** `key`: the columns of the table's key, each with its value in `from`. */
const addTo = (table: string, key: Record<string, string>, from: string) => {
  const names = Object.keys(key).join(', ')
  const values = Object.values(key).join(', ')
  const places = Object.keys(key).map((_, index) => index + 1)
  return sql.raw(`insert into metering.${table} as held (${names}, ${SUMS.join(', ')})
    select ${values}, ${SUMMED} from ${from} group by ${places.join(', ')} order by ${places.join(', ')}
    on conflict (${names}) do update set ${ADDED}`)
}

const MODEL = { model_asked: 'model_asked', kind: 'kind', unit: 'unit' }
const OWNER = { ...MODEL, key_id: 'key_id', user_id: 'user_id' }
const DAY = `(begins at time zone 'UTC')::date`
const OF_ORGANIZATION = `(
  select 'all' as part, '' as name, * from taken where tag is null
  union all select 'user', user_id, * from taken where tag is null
  union all select 'tag', tag, * from taken where tag is not null) as taken`

const TAKE_NOTES = sql`
  with taken as (
    delete from metering.usage_notes
    where ctid = any(array(select ctid from metering.usage_notes limit ${NOTES_AT_A_TIME})) returning *
  ),
  by_minute as (
    ${addTo('usage_by_minute', { account: 'account', begins: 'begins', ...OWNER }, 'taken where tag is null')}
  ),
  by_day as (${addTo('usage_by_day', { account: 'account', day: DAY, ...OWNER }, 'taken where tag is null')}),
  by_tag as (
    ${addTo('usage_by_tag', { account: 'account', day: DAY, tag: 'tag', ...MODEL }, 'taken where tag is not null')}
  ),
  of_organization as (
    ${addTo('usage_of_organization', { part: 'part', day: DAY, name: 'name', ...MODEL }, OF_ORGANIZATION)}
  )
  select count(*) as count from taken`

const HOUR = `date_trunc('hour', begins, 'UTC')`
const takeMinutes = (minutesFrom: number, hoursFrom: number) => sql`
  with old as (
    delete from metering.usage_by_minute where ctid = any(array(
      select ctid from metering.usage_by_minute
      where begins < to_timestamp(${hoursFrom}::float8)
        or (begins < to_timestamp(${minutesFrom}::float8) and begins <> ${sql.raw(HOUR)})
      limit ${MINUTES_AT_A_TIME}
    )) returning *
  ),
  kept as (select * from old where begins >= to_timestamp(${hoursFrom}::float8)),
  by_hour as (${addTo('usage_by_minute', { account: 'account', begins: HOUR, ...OWNER }, 'kept')})
  select count(*) as count from old`

export function keepUsageSums(database: MeteringDatabase, logger: Logger): AsyncDisposable {
  let hoursAtMs = 0
  let unvacuumed = 0
  return repeat(async (stopping) => {
    try {
      for (let moved = NOTES_AT_A_TIME; moved === NOTES_AT_A_TIME && !stopping.aborted; unvacuumed += moved) {
        moved = await sumUpNotes(database)
      }
      if (unvacuumed >= NOTES_AT_A_TIME) {
        // Readers pass over the notes that are gone until then.
        await sql`vacuum metering.usage_notes`.execute(database)
        unvacuumed = 0
      }
      if (Date.now() >= hoursAtMs && !stopping.aborted) {
        const moved = await sumUpOldMinutes(database, Date.now())
        if (moved < MINUTES_AT_A_TIME) hoursAtMs = Date.now() + HOURS_PAUSE_MS
      }
    } catch (error) {
      logger.warn({ err: error }, 'usage could not be summed up; it will be, and is complete meanwhile')
    }
    return PAUSE_MS
  })
}

/** Returns the number of notes that moved: 0 also while another process moves them. Most looks find none, and cost one small query. */
export async function sumUpNotes(database: MeteringDatabase): Promise<number> {
  const { rows } = await sql<{ isDue: boolean }>`
    select exists (select from metering.usage_notes) as "isDue"`.execute(database)
  return rows[0]!.isDue ? alone(database, TAKE_NOTES) : 0
}

/** A row that is late, or corrects another, is moved in its turn. Returns the number of rows that moved. */
export function sumUpOldMinutes(database: MeteringDatabase, nowMs: number): Promise<number> {
  return alone(database, takeMinutes(nowMs / 1000 - KEPT_SECONDS['1m'], nowMs / 1000 - KEPT_SECONDS['1h']))
}

function alone(database: MeteringDatabase, statement: ReturnType<typeof takeMinutes>): Promise<number> {
  return database.transaction().execute(async (transaction) => {
    const { rows } = await sql<{ isFree: boolean }>`select pg_try_advisory_xact_lock(${LOCK}) as "isFree"`.execute(
      transaction,
    )
    if (!rows[0]!.isFree) return 0
    const { rows: moved } = await sql<{ count: number }>`${statement}`.execute(transaction)
    return moved[0]!.count
  })
}
