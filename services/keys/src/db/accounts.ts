/**
 * Accounts. Their version grows with every change of them or of their keys, always under the row's lock.
 */

import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import type { Queryable } from '@gateway/postgres/database'

export interface Account {
  tag: string
  plan: string
  overage: boolean
  version: number
}

export interface NamedAccount extends Account {
  kind: 'developer' | 'guest'
  issuer: string | null
  subject: string | null
}

/** The account, if this is its active key. */
export async function findHolder(database: Queryable, tag: string, keyHash: Uint8Array): Promise<Account | undefined> {
  const { rows } = await database.query<Account>(
    `select tag, plan, overage, account.version from keys.accounts account join keys.keys key on key.account = tag
     where tag = $1 and key.hash = $2 and key.status = 'active'`,
    [tag, keyHash],
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

/** The account of whoever signed in, made with this plan where there is none, and locked for a change. */
export async function openDeveloperAccount(
  transaction: Queryable,
  owner: KeyOwner,
  fresh: { tag: string; plan: string },
): Promise<Account & { isNew: boolean }> {
  const { rows } = await transaction.query<Account>(
    `insert into keys.accounts (tag, kind, issuer, subject, plan) values ($1, 'developer', $2, $3, $4)
     on conflict (issuer, subject) do nothing
     returning tag, plan, overage, version`,
    [fresh.tag, owner.issuer, owner.subject, fresh.plan],
  )
  if (rows[0]) return { ...rows[0], isNew: true }
  // A statement of its own sees the account that another mint committed while this one waited.
  const account = await lockDeveloperAccount(transaction, owner)
  return { ...account!, isNew: false }
}

export async function lockDeveloperAccount(transaction: Queryable, owner: KeyOwner): Promise<Account | undefined> {
  const { rows } = await transaction.query<Account>(
    'select tag, plan, overage, version from keys.accounts where issuer = $1 and subject = $2 for update',
    [owner.issuer, owner.subject],
  )
  return rows[0]
}

export async function findOwnAccount(database: Queryable, owner: KeyOwner): Promise<Account | undefined> {
  const { rows } = await database.query<Account>(
    'select tag, plan, overage, version from keys.accounts where issuer = $1 and subject = $2',
    [owner.issuer, owner.subject],
  )
  return rows[0]
}

/** Locks an account that is known to exist, for a change. */
export async function lockAccount(transaction: Queryable, tag: string): Promise<Account> {
  const { rows } = await transaction.query<Account>(
    'select tag, plan, overage, version from keys.accounts where tag = $1 for update',
    [tag],
  )
  return rows[0]!
}

/** The accounts that an operator may mean: by tag, by `<iss>|<sub>`, or by `sub` alone, which issuers may share. */
export async function findAccounts(database: Queryable, name: string): Promise<NamedAccount[]> {
  const splits = [...name.matchAll(/\|/g)].map(({ index }) => [name.slice(0, index), name.slice(index + 1)] as const)
  const { rows } = await database.query<NamedAccount>(
    `select tag, kind, issuer, subject, plan, overage, version from keys.accounts
     where tag = $1 or subject = $1
        or (issuer, subject) in (select * from unnest($2::text[], $3::text[]))
     order by issuer`,
    [name, splits.map(([issuer]) => issuer), splits.map(([, subject]) => subject)],
  )
  return rows
}

/** Changes what an account holds. Its version counts the change. */
export async function changeAccount(
  transaction: Queryable,
  tag: string,
  { plan, overage }: { plan?: string; overage?: boolean },
): Promise<void> {
  await transaction.query(
    `update keys.accounts
     set plan = coalesce($2, plan), overage = coalesce($3, overage), version = version + 1
     where tag = $1`,
    [tag, plan ?? null, overage ?? null],
  )
}

/** Counts a change of a locked account and answers its new version. */
export async function raiseVersion(transaction: Queryable, tag: string): Promise<number> {
  const { rows } = await transaction.query<{ version: number }>(
    'update keys.accounts set version = version + 1 where tag = $1 returning version',
    [tag],
  )
  return rows[0]!.version
}
