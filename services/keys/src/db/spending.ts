/**
 * The totals of accounts by month, as metering last reported them, and their sum. A total falls where a run is void, so the latest
 * version stands, and a late report does no harm. Metering of a former release names no version: then the highest total stands.
 */

import { sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

export interface SpentTotal {
  account: string
  window: string
  milliTokens: number
  nanoUsd: number
  version?: number | undefined
}

/** In the order of the keys, so that writers wait for each other and never in a circle. */
export async function noteSpending(database: KeysDatabase, totals: readonly SpentTotal[]): Promise<void> {
  if (totals.length === 0) return
  await sql`
    insert into keys.spending as held ("window", account, milli_tokens, nano_usd, version)
    select distinct on ("window", account) "window", account, "milliTokens", "nanoUsd", coalesce(version, 0)
    from jsonb_to_recordset(${JSON.stringify(totals)}::jsonb) as reported (
      "window" text, account text, "milliTokens" bigint, "nanoUsd" bigint, version bigint
    )
    where exists (select from keys.accounts where tag = account)
    order by "window", account, version desc nulls last, "milliTokens" desc, "nanoUsd" desc
    on conflict ("window", account) do update set
      milli_tokens = case when excluded.version > 0 then excluded.milli_tokens
        else greatest(held.milli_tokens, excluded.milli_tokens) end,
      nano_usd = case when excluded.version > 0 then excluded.nano_usd else greatest(held.nano_usd, excluded.nano_usd) end,
      version = greatest(held.version, excluded.version)
    where excluded.version > held.version
      or (excluded.version = 0 and (excluded.milli_tokens > held.milli_tokens or excluded.nano_usd > held.nano_usd))`.execute(
    database,
  )
}

/** Of the present month; 0 without a report. */
export async function spentThisMonth(
  database: KeysDatabase,
  account: string,
): Promise<{ milliTokens: number; nanoUsd: number }> {
  const row = await database
    .selectFrom('keys.spending')
    .select(['milli_tokens as milliTokens', 'nano_usd as nanoUsd'])
    .where('account', '=', account)
    .where('window', '=', sql<string>`to_char(now() at time zone 'utc', 'YYYY-MM')`)
    .executeTakeFirst()
  return row ?? { milliTokens: 0, nanoUsd: 0 }
}

/** The present month and the one before stay, for late reports. */
export async function forgetOldSpending(database: KeysDatabase): Promise<void> {
  const lastMonth = sql`to_char((now() at time zone 'utc') - interval '1 month', 'YYYY-MM')`
  await sql`
    delete from keys.spending where ("window", account) in (
      select "window", account from keys.spending where "window" < ${lastMonth} limit 10000
    )`.execute(database)
  await sql`delete from keys.organization_spending where "window" < ${lastMonth}`.execute(database)
}
