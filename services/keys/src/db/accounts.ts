/**
 * Accounts. Their version grows with every change of them or of their keys, always under the row's lock.
 */

import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import { sql } from 'kysely'
import { touchKeysWithMonthlyLimits } from './project-keys.ts'
import type { KeysDatabase } from './tables.ts'

export interface Account {
  tag: string
  plan: string
  overage: boolean
  version: number
  /** Null: not suspended. */
  suspendedAt: Date | null
}

export interface NamedAccount extends Account {
  kind: 'developer' | 'guest' | 'project'
  issuer: string | null
  subject: string | null
}

const ACCOUNT = ['tag', 'plan', 'overage', 'version', 'suspended_at as suspendedAt'] as const

/** Makes the account of a device. Undefined when the device has one already. */
export function insertGuestAccount(
  transaction: KeysDatabase,
  { tag, deviceHash, plan }: { tag: string; deviceHash: Buffer; plan: string },
): Promise<Account | undefined> {
  return transaction
    .insertInto('keys.accounts')
    .values({ tag, kind: 'guest', device_hash: deviceHash, plan })
    .onConflict((conflict) => conflict.column('device_hash').doNothing())
    .returning(ACCOUNT)
    .executeTakeFirst()
}

/** Locks the account of a device for a change. */
export function lockGuestAccount(transaction: KeysDatabase, deviceHash: Buffer): Promise<Account | undefined> {
  return transaction
    .selectFrom('keys.accounts')
    .select(ACCOUNT)
    .where('device_hash', '=', deviceHash)
    .forUpdate()
    .executeTakeFirst()
}

/** Locks the signed-in caller's account for a change, and creates it with this plan where there is none. */
export async function openDeveloperAccount(
  transaction: KeysDatabase,
  { issuer, subject }: KeyOwner,
  fresh: { tag: string; plan: string },
): Promise<Account & { isNew: boolean }> {
  const made = await transaction
    .insertInto('keys.accounts')
    .values({ ...fresh, kind: 'developer', issuer, subject })
    .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
    .returning(ACCOUNT)
    .executeTakeFirst()
  if (made) return { ...made, isNew: true }
  // A statement of its own sees the account that another mint committed while this one waited.
  const account = await lockDeveloperAccount(transaction, { issuer, subject })
  return { ...account!, isNew: false }
}

export function lockDeveloperAccount(transaction: KeysDatabase, owner: KeyOwner): Promise<Account | undefined> {
  return accountOf(transaction, owner).forUpdate().executeTakeFirst()
}

export function findOwnAccount(database: KeysDatabase, owner: KeyOwner): Promise<Account | undefined> {
  return accountOf(database, owner).executeTakeFirst()
}

function accountOf(database: KeysDatabase, { issuer, subject }: KeyOwner) {
  return database
    .selectFrom('keys.accounts')
    .select(ACCOUNT)
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
}

/** Locks an account that is known to exist, for a change. */
export function lockAccount(transaction: KeysDatabase, tag: string): Promise<Account> {
  return transaction
    .selectFrom('keys.accounts')
    .select(ACCOUNT)
    .where('tag', '=', tag)
    .forUpdate()
    .executeTakeFirstOrThrow()
}

/** The accounts that an operator may mean: by tag, by `<iss>|<sub>`, or by `sub` alone, which issuers may share. */
export function findAccounts(database: KeysDatabase, name: string): Promise<NamedAccount[]> {
  const splits = [...name.matchAll(/\|/g)].map(({ index }) => [name.slice(0, index), name.slice(index + 1)] as const)
  return database
    .selectFrom('keys.accounts')
    .select([...ACCOUNT, 'kind', 'issuer', 'subject'])
    .where((is) =>
      is.or([
        is('tag', '=', name),
        is('subject', '=', name),
        ...splits.map(([issuer, subject]) => is.and({ issuer, subject })),
      ]),
    )
    .orderBy('issuer')
    .execute()
}

/** Changes a locked account's plan or overage. Its version counts the change. */
export async function changeAccount(
  transaction: KeysDatabase,
  tag: string,
  change: { plan?: string; overage?: boolean },
): Promise<void> {
  const { version } = await transaction
    .updateTable('keys.accounts')
    .set({ ...change, version: sql`version + 1` })
    .where('tag', '=', tag)
    .returning('version')
    .executeTakeFirstOrThrow()
  // Another plan may count in another unit, which makes the monthly limits of keys other ones in the admission store.
  if (change.plan !== undefined) await touchKeysWithMonthlyLimits(transaction, tag, version)
}

/** Counts a change of a locked account and returns its new version. */
export async function raiseVersion(transaction: KeysDatabase, tag: string): Promise<number> {
  const { version } = await transaction
    .updateTable('keys.accounts')
    .set({ version: sql`version + 1` })
    .where('tag', '=', tag)
    .returning('version')
    .executeTakeFirstOrThrow()
  return version
}
