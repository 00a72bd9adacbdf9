/**
 * Top-ups: more allowance for one calendar month.
 */

import type { PlanUnit } from '@gateway/contracts/usage'
import type { Queryable } from '@gateway/postgres/database'

export const CURRENT_WINDOW = `to_char(now() at time zone 'utc', 'YYYY-MM')`

/** What the account was given on top of its plan in the current window, in the smallest unit. */
export async function readExtra(database: Queryable, account: string, unit: PlanUnit): Promise<number> {
  const { rows } = await database.query<{ extra: number }>(
    `select coalesce(sum(amount), 0)::bigint as extra from keys.top_ups
     where account = $1 and unit = $2 and "window" = ${CURRENT_WINDOW}`,
    [account, unit],
  )
  return rows[0]!.extra
}
