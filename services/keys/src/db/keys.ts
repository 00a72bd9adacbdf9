/**
 * Keys. An account has one active key at the most; the others are its history.
 */

import type { KeyOwner, ListedKey } from '@gateway/contracts/developer-keys-api'
import type { Sealed } from '@gateway/sealing/sealing'
import { sql } from 'kysely'
import type { NewKey } from '../core/new-key.ts'
import type { KeysDatabase } from './tables.ts'

/** A stored key, with the data that its owner may see. */
export interface StoredKey extends Sealed {
  keyId: string
  account: string
  plan: string
  hash: Buffer
  /** Somebody may be about to end it. */
  ticket: string | null
}

/** A key of a locked account, as rotating and revoking need it. */
export interface OwnKey {
  keyId: string
  account: string
  hash: Buffer
  status: 'active' | 'suspended' | 'deactivated'
  version: number
  ticket: string | null
}

const STORED = [
  'key.key_id as keyId',
  'key.account',
  'account.plan',
  'key.hash',
  'key.sealed',
  'key.master_key_id as masterKeyId',
  'key.end_ticket as ticket',
] as const

function activeKeys(database: KeysDatabase) {
  return database
    .selectFrom('keys.accounts as account')
    .innerJoin('keys.keys as key', 'key.account', 'account.tag')
    .select(STORED)
    .where('key.status', '=', 'active')
}

export interface GuestDevice {
  /** The device has an account, with or without an active key. */
  isKnown: boolean
  key: StoredKey | undefined
}

/** Finds each of these devices, in their order. */
export async function findGuestDevices(database: KeysDatabase, hashes: readonly Buffer[]): Promise<GuestDevice[]> {
  const rows = await database
    .selectFrom('keys.accounts as account')
    .leftJoin('keys.keys as key', (join) =>
      join.onRef('key.account', '=', 'account.tag').on('key.status', '=', 'active'),
    )
    .select(['account.device_hash', ...STORED])
    .where('account.device_hash', '=', sql<Buffer>`any(${hashes})`)
    .execute()
  const known = new Map(rows.map(({ device_hash, ...key }) => [device_hash!.toString('base64'), key]))
  return hashes.map((hash) => {
    const key = known.get(hash.toString('base64'))
    return { isKnown: key !== undefined, key: key?.keyId ? (key as StoredKey) : undefined }
  })
}

export function findDeveloperKey(
  database: KeysDatabase,
  { issuer, subject }: KeyOwner,
): Promise<StoredKey | undefined> {
  return activeKeys(database)
    .where('account.issuer', '=', issuer)
    .where('account.subject', '=', subject)
    .executeTakeFirst()
}

export function findActiveKey(database: KeysDatabase, account: string): Promise<StoredKey | undefined> {
  return activeKeys(database).where('account.tag', '=', account).executeTakeFirst()
}

/** `version` is the account's, which counted the making of this key. */
export async function insertKey(
  transaction: KeysDatabase,
  { keyId, hash, sealed, masterKeyId }: NewKey,
  of: { account: string; version: number },
): Promise<void> {
  await transaction
    .insertInto('keys.keys')
    .values({ key_id: keyId, account: of.account, hash, sealed, master_key_id: masterKeyId, version: of.version })
    .execute()
}

const OWN = ['key_id as keyId', 'account', 'hash', 'status', 'version', 'end_ticket as ticket'] as const

export function findOwnKey(transaction: KeysDatabase, account: string, hash: Buffer): Promise<OwnKey | undefined> {
  return transaction
    .selectFrom('keys.keys')
    .select(OWN)
    .where('hash', '=', hash)
    .where('account', '=', account)
    .executeTakeFirst()
}

/** The account's key that is active, or would be without the account's suspension. */
export function findLivingKey(database: KeysDatabase, account: string): Promise<OwnKey | undefined> {
  return database
    .selectFrom('keys.keys')
    .select(OWN)
    .where('account', '=', account)
    .where('status', '<>', 'deactivated')
    .executeTakeFirst()
}

/** Waits for a running change of the key's account, and locks the account too. */
export async function lockKeyById(transaction: KeysDatabase, keyId: string): Promise<OwnKey | undefined> {
  const keys = transaction.selectFrom('keys.keys').where('key_id', '=', keyId)
  await transaction
    .selectFrom('keys.accounts')
    .select('tag')
    .where('tag', '=', keys.select('account'))
    .forUpdate()
    .execute()
  return keys.select(OWN).executeTakeFirst()
}

/** `version` is the account's, which counted this. */
export async function deactivateKey(transaction: KeysDatabase, key: OwnKey, version: number): Promise<OwnKey> {
  await transaction
    .updateTable('keys.keys')
    .set({ status: 'deactivated', deactivated_at: sql`now()`, version })
    .where('key_id', '=', key.keyId)
    .execute()
  return { ...key, status: 'deactivated', version }
}

/** Returns the ticket for ending an active key, the same for all callers until a mint voids it. Returns undefined when the key is dead. */
export async function openTicket(database: KeysDatabase, keyId: string): Promise<string | undefined> {
  const row = await database
    .updateTable('keys.keys')
    .set({ end_ticket: sql`coalesce(end_ticket, gen_random_uuid())` })
    .where('key_id', '=', keyId)
    .where('status', '=', 'active')
    .returning(sql<string>`end_ticket`.as('ticket'))
    .executeTakeFirst()
  return row?.ticket
}

export async function voidTicket(transaction: KeysDatabase, keyId: string): Promise<void> {
  await transaction.updateTable('keys.keys').set({ end_ticket: null }).where('key_id', '=', keyId).execute()
}

/** More than people read, and few enough for one reply. */
const PAGE_KEYS = 1_000

/** Owners know two statuses. */
const SHOWN_STATUS = sql<'active' | 'deactivated'>`case status when 'active' then status else 'deactivated' end`.as(
  'status',
)

export interface KeyPage {
  keys: Omit<ListedKey, 'plan'>[]
  /** The last key's id, where older keys follow. */
  next: string | null
}

/** Newest first; after the key of the id `after`. Null where the account has no such key. */
export async function listKeys(
  database: KeysDatabase,
  account: string,
  after: string | undefined,
): Promise<KeyPage | null> {
  const keysOf = database.selectFrom('keys.keys').where('account', '=', account)
  const last = after === undefined ? null : await keysOf.select('key_id').where('key_id', '=', after).executeTakeFirst()
  if (last === undefined) return null
  const before =
    last &&
    sql<boolean>`(created_at, key_id) <
    (select created_at, key_id from keys.keys where key_id = ${last.key_id})`
  const rows = await (before ? keysOf.where(before) : keysOf)
    .select(['key_id as keyId', SHOWN_STATUS, 'created_at as createdAt', 'last_used_at as lastUsedAt'])
    .orderBy('created_at', 'desc')
    .orderBy('key_id', 'desc')
    .limit(PAGE_KEYS + 1)
    .execute()
  const keys = rows.slice(0, PAGE_KEYS).map((row) => ({
    ...row,
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  }))
  return { keys, next: rows.length > PAGE_KEYS ? keys.at(-1)!.keyId : null }
}

/** Says for each key, in order, whether it ever belonged to its account. */
export async function areKeysOf(
  database: KeysDatabase,
  keys: readonly { account: string; hash: Buffer }[],
): Promise<boolean[]> {
  const hashes = keys.map(({ hash }) => hash)
  const { rows } = await sql<{ hash: Buffer; account: string }>`
    select hash, account from keys.keys where hash = any(${hashes}::bytea[])
    union all select hash, account from keys.project_keys where hash = any(${hashes}::bytea[])
    union all select hash, account from keys.replaced_values where hash = any(${hashes}::bytea[])`.execute(database)
  const accountOf = new Map(rows.map(({ hash, account }) => [hash.toString('base64'), account]))
  return keys.map(({ account, hash }) => accountOf.get(hash.toString('base64')) === account)
}

/** Notes when keys were last used; rows are locked in the order of their ids. */
export async function noteUse(
  database: KeysDatabase,
  uses: readonly { keyId: string; usedAtMs: number }[],
): Promise<void> {
  const ids = uses.map(({ keyId }) => keyId)
  const times = uses.map(({ usedAtMs }) => usedAtMs)
  for (const table of ['keys.keys', 'keys.project_keys'].map((name) => sql.table(name))) {
    await sql`
      with used as (
        select key.key_id, to_timestamp(use.used_at_ms / 1000.0) as used_at
        from unnest(${ids}::text[], ${times}::bigint[]) as use (key_id, used_at_ms) join ${table} key using (key_id)
        order by key_id for update of key
      )
      update ${table} key set last_used_at = used_at from used
      where key.key_id = used.key_id and (last_used_at is null or last_used_at < used_at)`.execute(database)
  }
}

const SEALED_AT_A_TIME = 100

/** Some keys that are sealed under another master key than the current one, each for one process only. */
export function lockFormerKeys(
  transaction: KeysDatabase,
  currentMasterKeyId: string,
): Promise<(Sealed & { keyId: string })[]> {
  return transaction
    .selectFrom('keys.keys')
    .select(['key_id as keyId', 'sealed', 'master_key_id as masterKeyId'])
    .where('master_key_id', '<>', currentMasterKeyId)
    .orderBy('key_id')
    .limit(SEALED_AT_A_TIME)
    .forUpdate()
    .skipLocked()
    .execute()
}

export async function replaceSealed(
  transaction: KeysDatabase,
  keyId: string,
  { sealed, masterKeyId }: Sealed,
): Promise<void> {
  await transaction
    .updateTable('keys.keys')
    .set({ sealed, master_key_id: masterKeyId })
    .where('key_id', '=', keyId)
    .execute()
}

/** The master keys that anything is sealed under. Goes from one to the next in the index, however many keys there are. */
export async function readMasterKeyIds(database: KeysDatabase): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with recursive found as (
      select min(master_key_id) as id from keys.keys
      union all
      select (select min(master_key_id) from keys.keys where master_key_id > found.id) from found
      where found.id is not null
    )
    select id from found where id is not null union select master_key_id from keys.secrets`.execute(database)
  return rows.map(({ id }) => id)
}
