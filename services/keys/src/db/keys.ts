/**
 * Keys. An account has one active key at the most; the others are its history.
 */

import type { Queryable } from '@gateway/postgres/database'
import type { NewKey } from '../core/new-key.ts'
import type { Sealed } from '../core/sealing.ts'

/** A key that is stored, with what its owner may be told. */
export interface StoredKey extends Sealed {
  keyId: string
  account: string
  plan: string
}

/** What admission is told of a key. */
export interface KeyState {
  hash: Buffer
  version: number
  active: boolean
}

const STORED = `key.key_id as "keyId", key.account, account.plan, key.sealed, key.master_key_id as "masterKeyId"`

export async function findGuestKey(database: Queryable, deviceHash: Uint8Array): Promise<StoredKey | undefined> {
  const { rows } = await database.query<StoredKey>(
    `select ${STORED} from keys.accounts account join keys.keys key on key.account = account.tag
     where account.device_hash = $1 and key.status = 'active'`,
    [deviceHash],
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

export async function isKeyOf(database: Queryable, account: string, hash: Uint8Array): Promise<boolean> {
  const { rowCount } = await database.query('select from keys.keys where hash = $1 and account = $2', [hash, account])
  return rowCount > 0
}

/** The account's active key, and the one with this hash whatever its state. */
export async function readKeyStates(
  database: Queryable,
  account: string,
  hash: Uint8Array | null,
): Promise<KeyState[]> {
  const { rows } = await database.query<KeyState>(
    `select hash, version, status = 'active' as active from keys.keys
     where account = $1 and (status = 'active' or hash = $2)`,
    [account, hash],
  )
  return rows
}
