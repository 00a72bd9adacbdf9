/**
 * The suspension of an account: all its keys are refused until it is restored. Each change writes a new version of every living key,
 * so the admission store takes the latest one, in whichever order they arrive.
 */

import { sql } from 'kysely'
import { raiseVersion } from './accounts.ts'
import type { KeysDatabase } from './tables.ts'

/** Suspends or restores a locked account. Returns its new version, which all its living keys have. */
export async function setSuspended(transaction: KeysDatabase, account: string, suspended: boolean): Promise<number> {
  const version = await raiseVersion(transaction, account)
  await transaction
    .updateTable('keys.accounts')
    .set({ suspended_at: suspended ? sql<Date>`coalesce(suspended_at, now())` : null })
    .where('tag', '=', account)
    .execute()
  await transaction
    .updateTable('keys.keys')
    .set({ status: suspended ? 'suspended' : 'active', version })
    .where('account', '=', account)
    .where('status', '<>', 'deactivated')
    .execute()
  await transaction
    .updateTable('keys.project_keys')
    .set({ version })
    .where('account', '=', account)
    .where('deactivated_at', 'is', null)
    .execute()
  return version
}
