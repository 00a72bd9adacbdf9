/**
 * The live keys and the projects of one person, for administrators.
 */

import { sql } from 'kysely'
import type { MembershipRole } from '../core/access.ts'
import { type Member, membershipsOf } from './memberships.ts'
import { PERSONAL_KEY_NAME } from './personal-keys.ts'
import type { Page } from './project-keys.ts'
import type { KeysDatabase } from './tables.ts'

export interface HeldKeyRow {
  keyId: string
  name: string
  account: string
  projectName: string | null
  isPersonal: boolean
  createdAt: Date
  expiresAt: Date | null
  lastUsedAt: Date | null
}

interface Part {
  after: string | undefined
  limit: number
}

/** Null where the person has no key of the id `after`. */
export async function listHeldKeys(
  database: KeysDatabase,
  { userId, issuer, subject }: Pick<Member, 'userId' | 'issuer' | 'subject'>,
  { after, limit }: Part,
): Promise<Page<HeldKeyRow> | null> {
  const held = sql`
    select key_id, name, account, created_at, expires_at, last_used_at, deactivated_at is null as is_live
    from keys.project_keys where created_by = ${userId}
    union all
    select key_id, ${PERSONAL_KEY_NAME}, account, own.created_at, null, last_used_at, own.deactivated_at is null
    from keys.keys own join keys.accounts holder on holder.tag = own.account
    where holder.issuer = ${issuer} and holder.subject = ${subject}`
  if (after !== undefined) {
    const known = await sql`select from (${held}) held where key_id = ${after}`.execute(database)
    if (known.rows.length === 0) return null
  }
  const older = sql`(held.created_at, held.key_id) < (select created_at, key_id from held where key_id = ${after})`
  const { rows } = await sql<HeldKeyRow>`
    with held as (${held})
    select held.key_id as "keyId", held.name, held.account, held.created_at as "createdAt",
      held.expires_at as "expiresAt", held.last_used_at as "lastUsedAt",
      project.name as "projectName", account.kind = 'developer' as "isPersonal"
    from held join keys.accounts account on account.tag = held.account
    left join keys.projects project on project.account = held.account
    where held.is_live and ${after === undefined ? sql`true` : older}
    order by held.created_at desc, held.key_id desc limit ${limit + 1}`.execute(database)
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}

export interface HeldProjectRow {
  account: string
  name: string | null
  isPersonal: boolean
  role: MembershipRole
}

/** Archived projects open nothing, so they are left out. */
export async function listHeldProjects(
  database: KeysDatabase,
  member: Member,
  { after, limit }: Part,
): Promise<Page<HeldProjectRow>> {
  const { rows } = await sql<HeldProjectRow>`
    select mine.account, mine.role, project.name, account.kind = 'developer' as "isPersonal"
    from (${membershipsOf(member)}) mine
    join keys.accounts account on account.tag = mine.account
    left join keys.projects project on project.account = mine.account
    where project.archived_at is null and ${after === undefined ? sql`true` : sql`mine.account > ${after}`}
    order by mine.account limit ${limit + 1}`.execute(database)
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}
