/**
 * The projects that a person may see. A person owns the own account. Others come from a membership of the person or of a
 * group of the token; the strongest holds.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import { sql } from 'kysely'
import type { MembershipRole } from '../core/access.ts'
import { groupIdOf } from './users.ts'
import type { KeysDatabase } from './tables.ts'

export interface Member {
  userId: string
  issuer: string
  subject: string
  groups: readonly string[]
}

/** The account tags of the person's projects, each with the role there. */
export function membershipsOf({ userId, issuer, subject, groups }: Member) {
  return sql<{ account: string; role: MembershipRole }>`
    select account, max(role) as role from (
      select tag as account, 'owner' as role from keys.accounts where issuer = ${issuer} and subject = ${subject}
      union all select account, role from keys.project_users where user_id = ${userId}
      union all select account, role from keys.project_groups where group_id = any(${groups.map(groupIdOf)}::text[])
    ) memberships group by account`
}

export async function readMemberships(database: KeysDatabase, member: Member): Promise<Map<string, MembershipRole>> {
  const { rows } = await membershipsOf(member).execute(database)
  return new Map(rows.map(({ account, role }) => [account, role]))
}

/** Finds the project, and the person's role there. */
export async function findProject(
  database: KeysDatabase,
  projectId: string,
  member: Member | null,
): Promise<{ exists: boolean; membership: MembershipRole | null }> {
  const tag = projectId.startsWith(PROJECT_PREFIX) ? projectId.slice(PROJECT_PREFIX.length) : ''
  const account = await database
    .selectFrom('keys.accounts')
    .select('tag')
    .where('tag', '=', tag)
    .where('kind', '<>', 'guest')
    .executeTakeFirst()
  if (!account) return { exists: false, membership: null }
  if (!member) return { exists: true, membership: null }
  const { rows } = await sql<{ role: MembershipRole }>`
    select role from (${membershipsOf(member)}) mine where account = ${tag}`.execute(database)
  return { exists: true, membership: rows[0]?.role ?? null }
}
