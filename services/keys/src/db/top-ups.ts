/**
 * Top-ups: more allowance for one calendar month. Which month it is, the admission store's clock says; `null` stands for
 * this database's own, for while the store is away.
 */

import type { PlanUnit } from '@gateway/contracts/usage'
import type { Queryable } from '@gateway/postgres/database'

interface TopUpsOf {
  account: string
  unit: PlanUnit
  window: string | null
}

const OWN_CLOCK = `to_char(now() at time zone 'utc', 'YYYY-MM')`

/** What the account was given on top of its plan in the window, in the smallest unit. */
export async function readExtra(database: Queryable, { account, unit, window }: TopUpsOf): Promise<number> {
  const { rows } = await database.query<{ extra: number }>(
    `select coalesce(sum(amount), 0)::bigint as extra from keys.top_ups
     where account = $1 and unit = $2 and "window" = coalesce($3, ${OWN_CLOCK})`,
    [account, unit, window],
  )
  return rows[0]!.extra
}

/** Adds to the window. Answers false, and adds nothing, when this top-up is known already. */
export async function insertTopUp(
  transaction: Queryable,
  topUp: TopUpsOf & { id: string; amount: number },
): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `insert into keys.top_ups (id, account, "window", unit, amount) values ($1, $2, coalesce($3, ${OWN_CLOCK}), $4, $5)
     on conflict (id) do nothing`,
    [topUp.id, topUp.account, topUp.window, topUp.unit, topUp.amount],
  )
  return rowCount > 0
}
