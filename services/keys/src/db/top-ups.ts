/**
 * Top-ups: more allowance for one calendar month. Which month it is, the admission store's clock says; `null` stands for
 * this database's own, for while the store is away.
 */

import type { PlanUnit } from '@gateway/contracts/usage'
import { sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

interface TopUpsOf {
  account: string
  unit: PlanUnit
  window: string | null
}

const windowOrOwn = (window: string | null) =>
  sql<string>`coalesce(${window}, to_char(now() at time zone 'utc', 'YYYY-MM'))`

function topUpsOf(database: KeysDatabase, { account, unit, window }: TopUpsOf) {
  return database
    .selectFrom('keys.top_ups')
    .where('account', '=', account)
    .where('unit', '=', unit)
    .where('window', '=', windowOrOwn(window))
}

/** The account's top-ups in the window, in the smallest unit. */
export async function readExtra(database: KeysDatabase, of: TopUpsOf): Promise<number> {
  const { extra } = await topUpsOf(database, of)
    .select(sql<number>`coalesce(sum(amount), 0)::bigint`.as('extra'))
    .executeTakeFirstOrThrow()
  return extra
}

export function findTopUp(
  database: KeysDatabase,
  id: string,
): Promise<{ account: string; unit: PlanUnit; amount: number } | undefined> {
  return database
    .selectFrom('keys.top_ups')
    .select(['account', 'unit', 'amount'])
    .$narrowType<{ unit: PlanUnit }>()
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Says whether a number holds the sum exactly. A larger sum would fail each read of it, and the other accounts in that read. */
export async function isCountable(database: KeysDatabase, of: TopUpsOf): Promise<boolean> {
  const { isExact } = await topUpsOf(database, of)
    .select(sql<boolean>`sum(amount) <= ${Number.MAX_SAFE_INTEGER}`.as('isExact'))
    .executeTakeFirstOrThrow()
  return isExact
}

/** Adds to the window. Returns false, and adds nothing, when this top-up is known already. */
export async function insertTopUp(
  transaction: KeysDatabase,
  { window, ...topUp }: TopUpsOf & { id: string; amount: number },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await transaction
    .insertInto('keys.top_ups')
    .values({ ...topUp, window: windowOrOwn(window) })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}
