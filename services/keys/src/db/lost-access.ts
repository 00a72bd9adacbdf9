/**
 * People who have living keys in a project that they may no longer see.
 */

import { sql } from 'kysely'
import { PERSON_ROLE } from './project-keys.ts'
import { groupIdOf, type SignIn } from './users.ts'
import type { KeysDatabase } from './tables.ts'

export interface LostAccess {
  account: string
  userId: string
}

/** By the claims of a token that nobody has noted yet. With `account`, that project alone. */
export async function findLostBy(
  database: KeysDatabase,
  { issuer, subject, role, groups }: SignIn,
  account: string | null = null,
): Promise<LostAccess[]> {
  if (role === 'owner') return []
  const { rows } = await sql<LostAccess>`
    select distinct key.account, person.id as "userId"
    from keys.users person
    join keys.project_keys key on key.created_by = person.id and key.deactivated_at is null
    where person.issuer = ${issuer} and person.subject = ${subject}
      and (${account}::text is null or key.account = ${account})
      and not exists (select from keys.project_users where account = key.account and user_id = person.id)
      and not exists (
        select from keys.project_groups
        where account = key.account and group_id = any(${groups.map(groupIdOf)}::text[]))
    order by key.account`.execute(database)
  return rows
}

/** By the memberships of today and the claims of everybody's last token. */
export async function findLostIn(database: KeysDatabase, account: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select distinct person.id from keys.project_keys key
    join keys.users person on person.id = key.created_by
    where key.account = ${account} and key.deactivated_at is null and ${PERSON_ROLE} is null
    order by person.id`.execute(database)
  return rows.map(({ id }) => id)
}
