/**
 * Keys. An account has one active key at the most; the others are its history.
 */

import type { KeyOwner, ListedKey } from '@gateway/contracts/developer-keys-api'
import type { Queryable } from '@gateway/postgres/database'
import type { NewKey } from '../core/new-key.ts'
import type { Sealed } from '@gateway/service/sealing'

/** A key that is stored, with what its owner may be told. */
export interface StoredKey extends Sealed {
  keyId: string
  account: string
  plan: string
  hash: Uint8Array
}

/** A key of a locked account, as rotating and revoking need it. */
export interface OwnKey {
  keyId: string
  account: string
  hash: Uint8Array
  status: ListedKey['status']
  version: number
}

/** What admission is told of a key. */
export interface KeyState {
  hash: Buffer
  version: number
  active: boolean
}

const STORED = `key.key_id as "keyId", key.account, account.plan, key.hash, key.sealed,
  key.master_key_id as "masterKeyId"`

export interface GuestDevice {
  /** The device has an account, with or without an active key. */
  isKnown: boolean
  key: StoredKey | undefined
}

/** What is known of each of these devices, in their order. */
export async function findGuestDevices(database: Queryable, hashes: readonly Uint8Array[]): Promise<GuestDevice[]> {
  const { rows } = await database.query<StoredKey & { deviceHash: Buffer }>(
    `select account.device_hash as "deviceHash", ${STORED}
     from keys.accounts account left join keys.keys key on key.account = account.tag and key.status = 'active'
     where account.device_hash = any($1)`,
    [hashes],
  )
  const known = new Map(rows.map(({ deviceHash, ...key }) => [deviceHash.toString('base64'), key]))
  return hashes.map((hash) => {
    const key = known.get(Buffer.from(hash).toString('base64'))
    return { isKnown: key !== undefined, key: key?.keyId ? key : undefined }
  })
}

export async function findDeveloperKey(database: Queryable, owner: KeyOwner): Promise<StoredKey | undefined> {
  const { rows } = await database.query<StoredKey>(
    `select ${STORED} from keys.accounts account join keys.keys key on key.account = account.tag
     where account.issuer = $1 and account.subject = $2 and key.status = 'active'`,
    [owner.issuer, owner.subject],
  )
  return rows[0]
}

export async function findActiveKey(database: Queryable, account: string): Promise<StoredKey | undefined> {
  const { rows } = await database.query<StoredKey>(
    `select ${STORED} from keys.accounts account join keys.keys key on key.account = account.tag
     where account.tag = $1 and key.status = 'active'`,
    [account],
  )
  return rows[0]
}

/** `version` is the account's, which counted the making of this key. */
export async function insertKey(
  transaction: Queryable,
  key: NewKey,
  of: { account: string; version: number },
): Promise<void> {
  await transaction.query(
    `insert into keys.keys (key_id, account, hash, sealed, master_key_id, version) values ($1, $2, $3, $4, $5, $6)`,
    [key.keyId, of.account, key.hash, key.sealed, key.masterKeyId, of.version],
  )
}

const OWN = 'key_id as "keyId", account, hash, status, version'

export async function findOwnKey(
  transaction: Queryable,
  account: string,
  hash: Uint8Array,
): Promise<OwnKey | undefined> {
  const { rows } = await transaction.query<OwnKey>(`select ${OWN} from keys.keys where hash = $1 and account = $2`, [
    hash,
    account,
  ])
  return rows[0]
}

/** Waits for whoever is changing the key's account, and locks the account too. */
export async function lockKeyById(transaction: Queryable, keyId: string): Promise<OwnKey | undefined> {
  await transaction.query(
    'select from keys.accounts where tag = (select account from keys.keys where key_id = $1) for update',
    [keyId],
  )
  const { rows } = await transaction.query<OwnKey>(`select ${OWN} from keys.keys where key_id = $1`, [keyId])
  return rows[0]
}

/** `version` is the account's, which counted this. */
export async function deactivateKey(transaction: Queryable, key: OwnKey, version: number): Promise<OwnKey> {
  await transaction.query(
    `update keys.keys set status = 'deactivated', deactivated_at = now(), version = $2 where key_id = $1`,
    [key.keyId, version],
  )
  return { ...key, status: 'deactivated', version }
}

/** More than anybody reads, and few enough for one answer. */
const MAX_LISTED = 1_000

/** Newest first. */
export async function listKeys(database: Queryable, account: string): Promise<Omit<ListedKey, 'plan'>[]> {
  const { rows } = await database.query<{
    keyId: string
    status: ListedKey['status']
    createdAt: Date
    lastUsedAt: Date | null
  }>(
    `select key_id as "keyId", status, created_at as "createdAt", last_used_at as "lastUsedAt" from keys.keys
     where account = $1 order by created_at desc, version desc limit ${MAX_LISTED}`,
    [account],
  )
  return rows.map((row) => ({
    ...row,
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  }))
}

/** Of each, in their order, whether the account has had such a key. */
export async function areKeysOf(
  database: Queryable,
  keys: readonly { account: string; hash: Uint8Array }[],
): Promise<boolean[]> {
  const { rows } = await database.query<{ hash: Buffer; account: string }>(
    'select hash, account from keys.keys where hash = any($1)',
    [keys.map(({ hash }) => hash)],
  )
  const accountOf = new Map(rows.map(({ hash, account }) => [hash.toString('base64'), account]))
  return keys.map(({ account, hash }) => accountOf.get(Buffer.from(hash).toString('base64')) === account)
}

/** Notes when keys were last used; rows are locked in the order of their ids. */
export async function noteUse(
  database: Queryable,
  uses: readonly { keyId: string; usedAtMs: number }[],
): Promise<void> {
  await database.query(
    `with used as (
       select key.key_id, to_timestamp(use.used_at_ms / 1000.0) as used_at
       from unnest($1::text[], $2::bigint[]) as use (key_id, used_at_ms) join keys.keys key using (key_id)
       order by key_id for update of key
     )
     update keys.keys key set last_used_at = used_at from used
     where key.key_id = used.key_id and (last_used_at is null or last_used_at < used_at)`,
    [uses.map(({ keyId }) => keyId), uses.map(({ usedAtMs }) => usedAtMs)],
  )
}

const SEALED_AT_A_TIME = 100

/** Some keys that are sealed under another master key than the current one, each for one process only. */
export async function lockFormerKeys(
  transaction: Queryable,
  currentMasterKeyId: string,
): Promise<(Sealed & { keyId: string })[]> {
  const { rows } = await transaction.query<Sealed & { keyId: string }>(
    `select key_id as "keyId", sealed, master_key_id as "masterKeyId" from keys.keys
     where master_key_id <> $1 order by key_id limit ${SEALED_AT_A_TIME} for update skip locked`,
    [currentMasterKeyId],
  )
  return rows
}

export async function replaceSealed(
  transaction: Queryable,
  keyId: string,
  { sealed, masterKeyId }: Sealed,
): Promise<void> {
  await transaction.query('update keys.keys set sealed = $2, master_key_id = $3 where key_id = $1', [
    keyId,
    sealed,
    masterKeyId,
  ])
}

/** The master keys that anything is sealed under. Goes from one to the next in the index, however many keys there are. */
export async function readMasterKeyIds(database: Queryable): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    `with recursive found as (
       select min(master_key_id) as id from keys.keys
       union all
       select (select min(master_key_id) from keys.keys where master_key_id > found.id) from found
       where found.id is not null
     )
     select id from found where id is not null union select master_key_id from keys.secrets`,
  )
  return rows.map(({ id }) => id)
}
