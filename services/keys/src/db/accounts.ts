/**
 * Accounts. Their version grows with every change of them or of their keys, always under the row's lock.
 */

import type { Queryable } from '@gateway/postgres/database'

export interface Account {
  tag: string
  plan: string
  overage: boolean
  version: number
}

/** Keeps the account as it is until the transaction ends: changes wait, other readers do not. */
export async function holdAccount(transaction: Queryable, tag: string): Promise<Account | undefined> {
  const { rows } = await transaction.query<Account>(
    'select tag, plan, overage, version from keys.accounts where tag = $1 for share',
    [tag],
  )
  return rows[0]
}

/** Makes the account of a device. Undefined when the device has one already. */
export async function insertGuestAccount(
  transaction: Queryable,
  { tag, deviceHash, plan }: { tag: string; deviceHash: Uint8Array; plan: string },
): Promise<Account | undefined> {
  const { rows } = await transaction.query<Account>(
    `insert into keys.accounts (tag, kind, device_hash, plan) values ($1, 'guest', $2, $3)
     on conflict (device_hash) do nothing
     returning tag, plan, overage, version`,
    [tag, deviceHash, plan],
  )
  return rows[0]
}

/** Locks the account of a device for a change. */
export async function lockGuestAccount(transaction: Queryable, deviceHash: Uint8Array): Promise<Account | undefined> {
  const { rows } = await transaction.query<Account>(
    'select tag, plan, overage, version from keys.accounts where device_hash = $1 for update',
    [deviceHash],
  )
  return rows[0]
}

/** Counts a change of a locked account and answers its new version. */
export async function raiseVersion(transaction: Queryable, tag: string): Promise<number> {
  const { rows } = await transaction.query<{ version: number }>(
    'update keys.accounts set version = version + 1 where tag = $1 returning version',
    [tag],
  )
  return rows[0]!.version
}
