/**
 * People and groups, as administrators list them.
 */

import { type RawBuilder, sql } from 'kysely'
import type { Page } from './project-keys.ts'
import type { KeysDatabase } from './tables.ts'

export interface UserRow {
  id: string
  issuer: string
  subject: string
  email: string | null
  name: string | null
  role: 'reader' | 'owner' | null
  groups: string[]
  added_at: Date
}

export interface GroupRow {
  id: string
  name: string
  created_at: Date
}

export type Order = 'asc' | 'desc'

function users(database: KeysDatabase) {
  return database
    .selectFrom('keys.users')
    .select(['id', 'issuer', 'subject', 'email', 'name', 'role', 'groups', 'added_at'])
    .where('removed_at', 'is', null)
}

export function findUser(database: KeysDatabase, id: string): Promise<UserRow | undefined> {
  return users(database).where('id', '=', id).executeTakeFirst()
}

export function findUsersByEmail(database: KeysDatabase, email: string): Promise<UserRow[]> {
  return users(database)
    .where(sql<boolean>`lower(email) = lower(${email})`)
    .limit(2)
    .execute()
}

interface UserList {
  after: string | undefined
  limit: number
  order: Order
  /** In letters of any size; null: all. */
  emails: readonly string[] | null
  /** A part of the name or of the email, in letters of any size; null: all. */
  search: string | null
  /** Those whose last token named the group; null: all. */
  group: string | null
}

export async function listUsers(
  database: KeysDatabase,
  { after, limit, order, emails, search, group }: UserList,
): Promise<Page<UserRow>> {
  const rows = await users(database)
    .$if(after !== undefined, (all) => all.where('id', order === 'asc' ? '>' : '<', after!))
    .$if(emails !== null, (all) => all.where(sql<boolean>`lower(email) = any(${inSmallLetters(emails!)})`))
    .$if(search !== null, (all) => all.where(isLike(search!)))
    .$if(group !== null, (all) => all.where(sql<boolean>`groups @> array[${group}]::text[]`))
    .orderBy('id', order)
    .limit(limit + 1)
    .execute()
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}

/** The database writes both sides in small letters: its locale knows other ones than JavaScript. */
function isLike(search: string) {
  const part = sql`lower(${search})`
  return sql<boolean>`(strpos(lower(coalesce(name, '')), ${part}) > 0 or strpos(lower(coalesce(email, '')), ${part}) > 0)`
}

export function inSmallLetters(texts: readonly string[]): RawBuilder<string[]> {
  return sql`array(select lower(given) from unnest(${texts}::text[]) given)`
}

export async function removeUser(transaction: KeysDatabase, id: string): Promise<void> {
  await transaction.deleteFrom('keys.project_users').where('user_id', '=', id).execute()
  await transaction
    .updateTable('keys.users')
    .set({ removed_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

/** Locks the projects of the person, in the order of their tags. So a key that is being made there is known afterwards. */
export async function lockProjectsOf(transaction: KeysDatabase, userId: string): Promise<void> {
  await sql`
    select tag from keys.accounts
    where tag in (
      select account from keys.project_users where user_id = ${userId}
      union select account from keys.project_keys where created_by = ${userId} and deactivated_at is null
    )
    order by tag for update`.execute(transaction)
}

/** The tags of the projects where the person has living keys. */
export async function projectsWithKeysOf(database: KeysDatabase, userId: string): Promise<string[]> {
  const rows = await database
    .selectFrom('keys.project_keys')
    .select('account')
    .distinct()
    .where('created_by', '=', userId)
    .where('deactivated_at', 'is', null)
    .orderBy('account')
    .execute()
  return rows.map(({ account }) => account)
}

/** The tags of the own account, and of the projects where the person has made keys; also of a removed person. */
export async function accountsOfUser(database: KeysDatabase, userId: string): Promise<string[]> {
  const { rows } = await sql<{ tag: string }>`
    select account as tag from keys.project_keys where created_by = ${userId}
    union
    select account.tag from keys.users person
    join keys.accounts account on account.issuer = person.issuer and account.subject = person.subject
    where person.id = ${userId}`.execute(database)
  return rows.map(({ tag }) => tag)
}

/** Ends the keys that the person made in a locked project. `version`: the project's, which counted that. */
export async function endKeysOf(
  transaction: KeysDatabase,
  { account, userId }: { account: string; userId: string },
  version: number,
): Promise<{ keyId: string; name: string }[]> {
  return transaction
    .updateTable('keys.project_keys')
    .set({ deactivated_at: sql`now()`, version })
    .where('account', '=', account)
    .where('created_by', '=', userId)
    .where('deactivated_at', 'is', null)
    .returning(['key_id as keyId', 'name'])
    .execute()
}

export function findGroup(database: KeysDatabase, id: string): Promise<GroupRow | undefined> {
  return database.selectFrom('keys.groups').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function listGroups(
  database: KeysDatabase,
  { after, limit, order }: { after: string | undefined; limit: number; order: Order },
): Promise<Page<GroupRow>> {
  const rows = await database
    .selectFrom('keys.groups')
    .selectAll()
    .$if(after !== undefined, (all) => all.where('id', order === 'asc' ? '>' : '<', after!))
    .orderBy('id', order)
    .limit(limit + 1)
    .execute()
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}
