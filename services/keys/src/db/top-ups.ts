/**
 * Top-ups: more allowance for one calendar month.
 */

import type { PlanUnit } from '@gateway/contracts/usage'
import type { Queryable } from '@gateway/postgres/database'

const CURRENT_WINDOW = `to_char(now() at time zone 'utc', 'YYYY-MM')`

/** What the account was given on top of its plan in the current window, in the smallest unit. */
export async function readExtra(
  database: Queryable,
  account: string,
  unit: PlanUnit,
): Promise<{ extra: number; window: string }> {
  const { rows } = await database.query<{ extra: number; window: string }>(
    `select coalesce(sum(amount), 0)::bigint as extra, ${CURRENT_WINDOW} as window from keys.top_ups
     where account = $1 and unit = $2 and "window" = ${CURRENT_WINDOW}`,
    [account, unit],
  )
  return rows[0]!
}

/** Adds to the current window. Answers false, and adds nothing, when this top-up is known already. */
export async function insertTopUp(
  transaction: Queryable,
  topUp: { id: string; account: string; unit: PlanUnit; amount: number },
): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `insert into keys.top_ups (id, account, "window", unit, amount) values ($1, $2, ${CURRENT_WINDOW}, $3, $4)
     on conflict (id) do nothing`,
    [topUp.id, topUp.account, topUp.unit, topUp.amount],
  )
  return rowCount > 0
}
