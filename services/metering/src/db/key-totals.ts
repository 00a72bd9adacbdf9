/**
 * The totals of keys that have limits of their own, beside their account's. The database keeps them with the ledger's rows, from the
 * first time that a key's total is needed in a month. Then it is summed up from the daily sums.
 *
 * The window's row is locked meanwhile. Each writer of the account holds that row until its commit. So either the sum includes its
 * rows, or it finds the key's total and moves it.
 */

import { sql } from 'kysely'
import type { MeteringDatabase } from './tables.ts'

export interface WindowKey {
  account: string
  window: string
  keyId: string
}

const named = (keys: readonly WindowKey[]) => sql`
  select distinct account, "window", "keyId"
  from jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) as named (account text, "window" text, "keyId" text)`

/** Costs one look where all are kept already. */
export async function keepKeyTotals(database: MeteringDatabase, keys: readonly WindowKey[]): Promise<void> {
  if (keys.length === 0) return
  const { rows: unkept } = await sql<WindowKey>`
    select * from (${named(keys)}) as named where not exists (
      select from metering.key_windows held
      where (held.account, held."window", held.key_id) = (named.account, named."window", named."keyId")
    )`.execute(database)
  if (unkept.length > 0) await database.transaction().execute((transaction) => beginKeyTotals(transaction, unkept))
}

async function beginKeyTotals(transaction: MeteringDatabase, keys: readonly WindowKey[]): Promise<void> {
  await sql`
    insert into metering.windows (account, "window", milli_tokens, nano_usd, unit, version)
    select distinct account, "window", 0, 0, 'tokens', 0 from (${named(keys)}) as named order by account, "window"
    on conflict do nothing`.execute(transaction)
  await sql`
    select from metering.windows
    where (account, "window") in (select account, "window" from (${named(keys)}) as named)
    order by account, "window" for update`.execute(transaction)
  await sql`
    insert into metering.key_windows (account, "window", key_id, milli_tokens, nano_usd)
    select named.account, named."window", named."keyId",
      coalesce(sum(charge) filter (where unit = 'tokens'), 0), coalesce(sum(charge) filter (where unit = 'usd'), 0)
    from (${named(keys)}) as named
    left join metering.usage_of_days used
      on (used.account, used.key_id) = (named.account, named."keyId")
      and used.day >= to_date(named."window", 'YYYY-MM')
      and used.day < to_date(named."window", 'YYYY-MM') + interval '1 month'
    group by 1, 2, 3 order by 1, 2, 3
    on conflict do nothing`.execute(transaction)
}
