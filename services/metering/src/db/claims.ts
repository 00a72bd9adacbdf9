/**
 * One charge for an `Idempotency-Key`. A run that lost its edge never gave its client the end. It is void as soon as a run of the
 * same claim was delivered. Its charge becomes 0, and its row names the run that replaced it.
 *
 * The rows that stand decide, so reports may come in any order, and again. A report of the edge, that the lost run was
 * delivered all the same, charges it again. Nothing else is void: a client has seen the end of a delivered run, and chose to
 * leave an abandoned one.
 *
 * Writers of the same claim wait for each other, since neither would see the row of the other.
 */

import { sql } from 'kysely'
import { type Report, timeOfRequestMs } from '../core/reports.ts'
import type { MeteringDatabase } from './tables.ts'
import type { TotalQuery, WindowTotal } from './windows.ts'

const DAY_MS = 24 * 3_600_000
/** Any number that nothing else in this database locks with a claim's. */
const CLAIMS_LOCK = 4_120_663

export interface Claims {
  /** As the statements read them. */
  records: string
  /** All runs of these claims have ids between these, so that a statement looks into one or two months alone. */
  first: string
  last: string
}

export function claimsOf(reports: readonly Report[]): Claims {
  const claimed = reports.filter(({ event }) => event.claim !== undefined)
  const times = claimed.map(({ event }) => timeOfRequestMs(event.requestId))
  // A day is how long a key is known, another one is for clocks that differ.
  const first = Math.max(0, times.reduce((one, other) => Math.min(one, other)) - 2 * DAY_MS)
  const last = times.reduce((one, other) => Math.max(one, other)) + 2 * DAY_MS
  const records = claimed.map(({ event: { account, claim } }) => ({ account, claim }))
  return { records: JSON.stringify(records), first: leastIdAt(first), last: leastIdAt(last) }
}

/** In one order for all writers. */
export async function lockClaims(transaction: MeteringDatabase, { records }: Claims): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(${CLAIMS_LOCK}, key) from (
      select distinct hashtext(account || ' ' || claim) as key
      from jsonb_to_recordset(${records}::jsonb) as named (account text, claim text)
      order by key
    ) as ordered`.execute(transaction)
}

const runsOf = ({ records, first, last }: Claims) => sql`
    named as (
      select distinct account, claim from jsonb_to_recordset(${records}::jsonb) as named (account text, claim text)
    ),
    run as (
      select run.* from named
      join metering.ledger run on run.account = named.account and run.claim = named.claim and run.claim is not null
      where run.request_id between ${first}::uuid and ${last}::uuid
    )`

/** Returns the windows whose totals moved. */
export async function voidLostRuns(transaction: MeteringDatabase, claims: Claims): Promise<WindowTotal[]> {
  const { rows } = await sql<WindowTotal>`
    with ${runsOf(claims)},
    replaced as (
      select distinct on (lost.request_id) lost.request_id, lost.charge as charged, delivered.request_id as by
      from run lost
      join run delivered on delivered.account = lost.account and delivered.claim = lost.claim and delivered.delivered
        and delivered.started_at between lost.started_at - interval '1 day' and lost.started_at + interval '1 day'
      where lost.outcome = 'edge_lost' and not lost.delivered
      order by lost.request_id, delivered.request_id
    ),
    voided as (
      update metering.ledger as held
      set charge = 0, voided_by = replaced.by, voided_charge = coalesce(held.voided_charge, held.charge)
      from replaced
      where held.request_id = replaced.request_id and held.voided_by is distinct from replaced.by
      returning held.account, held."window", held.unit, replaced.charged
    ),
    moved as (
      select account, "window",
        coalesce(sum(charged) filter (where unit = 'tokens'), 0)::bigint as milli_tokens,
        coalesce(sum(charged) filter (where unit = 'usd'), 0)::bigint as nano_usd
      from voided where charged <> 0
      group by account, "window"
    )
    update metering.windows as held
    set milli_tokens = held.milli_tokens - moved.milli_tokens, nano_usd = held.nano_usd - moved.nano_usd,
      version = held.version + 1
    from moved
    where (held.account, held."window") = (moved.account, moved."window")
    returning held.account, held."window", held.version,
      case held.unit when 'tokens' then held.milli_tokens else held.nano_usd end as settled`.execute(transaction)
  return rows
}

export async function readVoided(transaction: MeteringDatabase, claims: Claims): Promise<TotalQuery[]> {
  const { rows } = await sql<TotalQuery>`
    with ${runsOf(claims)}
    select account, "window", array_agg(distinct key_id) as "keyIds" from run where voided_by is not null
    group by account, "window"`.execute(transaction)
  return rows
}

/** The least UUID of this time: those made since then come after it. */
function leastIdAt(timeMs: number): string {
  const hex = timeMs.toString(16).padStart(12, '0').slice(-12)
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
