/**
 * The keys of administrators. Only their hashes are stored.
 */

import { sql } from 'kysely'
import type { Page } from './project-keys.ts'
import type { KeysDatabase } from './tables.ts'

/** The use of a key is noted this often. */
const USED_EVERY_SECONDS = 60

export interface LiveAdminKey {
  keyId: string
  name: string
  createdBy: string
}

export function findLiveAdminKey(database: KeysDatabase, hash: Uint8Array): Promise<LiveAdminKey | undefined> {
  return liveAdminKeys(database)
    .select(['key_id as keyId', 'name', 'created_by as createdBy'])
    .where('hash', '=', Buffer.from(hash))
    .executeTakeFirst()
}

export async function areLiveAdminKeys(database: KeysDatabase, hashes: readonly Buffer[]): Promise<boolean[]> {
  const among = sql<boolean>`hash = any(${hashes}::bytea[])`
  const rows = await liveAdminKeys(database).select('hash').where(among).execute()
  const live = new Set(rows.map(({ hash }) => hash.toString('base64')))
  return hashes.map((hash) => live.has(hash.toString('base64')))
}

function liveAdminKeys(database: KeysDatabase) {
  return database
    .selectFrom('keys.admin_keys')
    .where('revoked_at', 'is', null)
    .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', sql<Date>`now()`)]))
}

export async function noteAdminKeyUse(database: KeysDatabase, keyId: string): Promise<void> {
  await database
    .updateTable('keys.admin_keys')
    .set({ last_used_at: sql`now()` })
    .where('key_id', '=', keyId)
    .where((is) =>
      is.or([
        is('last_used_at', 'is', null),
        is('last_used_at', '<', sql<Date>`now() - make_interval(secs => ${USED_EVERY_SECONDS})`),
      ]),
    )
    .execute()
}

export interface AdminKeyRow {
  keyId: string
  name: string
  createdBy: string
  createdByName: string
  createdAt: Date
  expiresAt: Date | null
  lastUsedAt: Date | null
  revokedAt: Date | null
}

function adminKeys(database: KeysDatabase) {
  return database
    .selectFrom('keys.admin_keys')
    .select([
      'key_id as keyId',
      'name',
      'created_by as createdBy',
      'created_by_name as createdByName',
      'created_at as createdAt',
      'expires_at as expiresAt',
      'last_used_at as lastUsedAt',
      'revoked_at as revokedAt',
    ])
}

export function findAdminKey(database: KeysDatabase, keyId: string): Promise<AdminKeyRow | undefined> {
  return adminKeys(database).where('key_id', '=', keyId).executeTakeFirst()
}

/** Revoked ones are not listed, and a page still goes on after one. Null where there was no such key. */
export async function listAdminKeys(
  database: KeysDatabase,
  { after, limit, order }: { after: string | undefined; limit: number; order: 'asc' | 'desc' },
): Promise<Page<AdminKeyRow> | null> {
  if (after !== undefined && !(await findAdminKey(database, after))) return null
  const edge = sql`(select created_at, key_id from keys.admin_keys where key_id = ${after})`
  const behind =
    order === 'asc' ? sql<boolean>`(created_at, key_id) > ${edge}` : sql<boolean>`(created_at, key_id) < ${edge}`
  const rows = await adminKeys(database)
    .where('revoked_at', 'is', null)
    .$if(after !== undefined, (keys) => keys.where(behind))
    .orderBy('created_at', order)
    .orderBy('key_id', order)
    .limit(limit + 1)
    .execute()
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}

export interface NewAdminKey {
  keyId: string
  hash: Uint8Array
  name: string
  createdBy: string
  createdByName: string
  expiresInSeconds: number | null
}

export async function insertAdminKey(transaction: KeysDatabase, key: NewAdminKey): Promise<void> {
  await transaction
    .insertInto('keys.admin_keys')
    .values({
      key_id: key.keyId,
      hash: key.hash,
      name: key.name,
      created_by: key.createdBy,
      created_by_name: key.createdByName,
      expires_at: key.expiresInSeconds === null ? null : sql`now() + make_interval(secs => ${key.expiresInSeconds})`,
    })
    .execute()
}

/** False where it was revoked before. */
export async function revokeAdminKey(transaction: KeysDatabase, keyId: string): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable('keys.admin_keys')
    .set({ revoked_at: sql`now()` })
    .where('key_id', '=', keyId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
