/**
 * Service accounts: the owners of keys that belong to no person. A deleted one stays in the table, for cursors and for calls that
 * repeat its deletion.
 */

import { sql } from 'kysely'
import type { Page } from './project-keys.ts'
import type { KeysDatabase } from './tables.ts'

export interface ServiceAccountRow {
  id: string
  name: string
  role: 'member' | 'owner'
  createdAt: Date
  deletedVersion: number | null
}

function serviceAccounts(database: KeysDatabase, account: string) {
  return database
    .selectFrom('keys.service_accounts')
    .select(['id', 'name', 'role', 'created_at as createdAt', 'deleted_version as deletedVersion'])
    .where('account', '=', account)
}

export async function insertServiceAccount(
  transaction: KeysDatabase,
  { id, account, name }: { id: string; account: string; name: string },
): Promise<void> {
  await transaction.insertInto('keys.service_accounts').values({ id, account, name }).execute()
}

/** Deleted ones, too. */
export function findServiceAccount(
  database: KeysDatabase,
  account: string,
  id: string,
): Promise<ServiceAccountRow | undefined> {
  return serviceAccounts(database, account).where('id', '=', id).executeTakeFirst()
}

/** The living ones, newest first; after the one of the id `after`, deleted or not. Null where the project has no such one. */
export async function listServiceAccounts(
  database: KeysDatabase,
  { account, after, limit }: { account: string; after: string | undefined; limit: number },
): Promise<Page<ServiceAccountRow> | null> {
  if (after !== undefined && !(await findServiceAccount(database, account, after))) return null
  const older = sql<boolean>`(created_at, id) < (select created_at, id from keys.service_accounts where id = ${after})`
  const rows = await serviceAccounts(database, account)
    .where('deleted_at', 'is', null)
    .$if(after !== undefined, (all) => all.where(older))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}

export async function changeServiceAccount(
  transaction: KeysDatabase,
  id: string,
  change: { name?: string; role?: 'member' | 'owner' },
): Promise<void> {
  if (Object.keys(change).length === 0) return
  await transaction.updateTable('keys.service_accounts').set(change).where('id', '=', id).execute()
}

/** `version`: the locked account's, which counted the deletion. */
export async function deleteServiceAccount(transaction: KeysDatabase, id: string, version: number): Promise<void> {
  await transaction
    .updateTable('keys.service_accounts')
    .set({ deleted_at: sql`now()`, deleted_version: version })
    .where('id', '=', id)
    .execute()
}
