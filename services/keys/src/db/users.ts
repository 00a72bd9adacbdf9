/**
 * People who have signed in, and the groups of their tokens.
 */

import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { sortableId } from '../core/sortable-id.ts'
import type { KeysDatabase } from './tables.ts'

/** Of a proven token, or of the ones before it where it lacks a claim. */
export interface SignIn {
  issuer: string
  subject: string
  email: string | null
  name: string | null
  role: 'reader' | 'owner' | null
  groups: readonly string[]
}

/** A row that says the same already is written again after this long. */
const SEEN_EVERY_SECONDS = 300
/** Of a token. More would only make the row large. */
const MOST_GROUPS = 1_000

/** As the row of the person holds the token's groups. */
export function withStoredGroups(signIn: SignIn): SignIn {
  return { ...signIn, groups: [...new Set(signIn.groups)].slice(0, MOST_GROUPS).toSorted() }
}

/** Returns the person's id. */
export async function noteSignIn(database: KeysDatabase, signIn: SignIn): Promise<string> {
  return database.transaction().execute(async (transaction) => {
    await nameGroups(transaction, signIn.groups)
    return writeUser(transaction, signIn)
  })
}

/** By the claims of the person's last tokens that had them; also of a person who was removed. */
export function findRights(
  database: KeysDatabase,
  { issuer, subject }: Pick<SignIn, 'issuer' | 'subject'>,
): Promise<Pick<SignIn, 'role' | 'groups'> | undefined> {
  return database
    .selectFrom('keys.users')
    .select(['role', 'groups'])
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
}

/** The person's row, where it has been seen lately and says the same as the token. */
export function findUnchanged(
  database: KeysDatabase,
  { issuer, subject, email, name, role, groups }: SignIn,
): Promise<{ id: string } | undefined> {
  return database
    .selectFrom('keys.users')
    .select('id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .where('removed_at', 'is', null)
    .where('email', 'is not distinct from', email)
    .where('name', 'is not distinct from', name)
    .where('role', 'is not distinct from', role)
    .where('groups', '=', sql<string[]>`${groups}::text[]`)
    .where('seen_at', '>', sql<Date>`now() - make_interval(secs => ${SEEN_EVERY_SECONDS})`)
    .executeTakeFirst()
}

async function writeUser(transaction: KeysDatabase, { issuer, subject, ...facts }: SignIn): Promise<string> {
  const claims = { ...facts, groups: [...facts.groups] }
  const id = sortableId('user-', Date.now(), randomBytes)
  const row = await transaction
    .insertInto('keys.users')
    .values({ id, issuer, subject, ...claims })
    .onConflict((conflict) =>
      conflict.columns(['issuer', 'subject']).doUpdateSet({ ...claims, seen_at: sql`now()`, removed_at: null }),
    )
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** A person who minted or ended a developer key; the claims of a token come with an administration call. */
export async function noteOwner(
  transaction: KeysDatabase,
  id: string,
  { issuer, subject }: Pick<SignIn, 'issuer' | 'subject'>,
): Promise<{ id: string; email: string | null }> {
  return transaction
    .insertInto('keys.users')
    .values({ id, issuer, subject })
    .onConflict((conflict) =>
      conflict.columns(['issuer', 'subject']).doUpdateSet({ seen_at: sql`now()`, removed_at: null }),
    )
    .returning(['id', 'email'])
    .executeTakeFirstOrThrow()
}

export function groupIdOf(name: string): string {
  return `group_${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}

/** Returns the number of new ones. Their order keeps two transactions from waiting for each other. */
export async function nameGroups(transaction: KeysDatabase, names: readonly string[]): Promise<number> {
  if (names.length === 0) return 0
  const rows = names.toSorted().map((name) => ({ id: groupIdOf(name), name }))
  const { numInsertedOrUpdatedRows } = await transaction
    .insertInto('keys.groups')
    .values(rows)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst()
  return Number(numInsertedOrUpdatedRows)
}
