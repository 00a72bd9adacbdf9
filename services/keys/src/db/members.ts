/**
 * The members of one project: people and groups.
 */

import { sql } from 'kysely'
import type { MembershipRole } from '../core/access.ts'
import type { Order } from './people.ts'
import type { Page } from './project-keys.ts'
import type { KeysDatabase } from './tables.ts'

export interface MemberRow {
  id: string
  email: string | null
  name: string | null
  role: MembershipRole
  added_at: Date
}

function members(database: KeysDatabase, account: string) {
  return database
    .selectFrom('keys.project_users as member')
    .innerJoin('keys.users as user', 'user.id', 'member.user_id')
    .select(['user.id', 'user.email', 'user.name', 'member.role', 'member.added_at'])
    .where('member.account', '=', account)
}

export function findMember(database: KeysDatabase, account: string, userId: string): Promise<MemberRow | undefined> {
  return members(database, account).where('user.id', '=', userId).executeTakeFirst()
}

export async function listMembers(
  database: KeysDatabase,
  account: string,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<Page<MemberRow>> {
  const rows = await members(database, account)
    .$if(after !== undefined, (all) => all.where('user.id', '<', after!))
    .orderBy('user.id', 'desc')
    .limit(limit + 1)
    .execute()
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}

export async function writeMember(
  transaction: KeysDatabase,
  member: { account: string; userId: string; role: MembershipRole },
): Promise<void> {
  const { account, userId, role } = member
  await transaction
    .insertInto('keys.project_users')
    .values({ account, user_id: userId, role })
    .onConflict((conflict) => conflict.columns(['account', 'user_id']).doUpdateSet({ role }))
    .execute()
}

export async function deleteMember(transaction: KeysDatabase, account: string, userId: string): Promise<void> {
  await transaction
    .deleteFrom('keys.project_users')
    .where('account', '=', account)
    .where('user_id', '=', userId)
    .execute()
}

export interface GroupMemberRow {
  id: string
  name: string
  role: MembershipRole
  added_at: Date
}

function groupMembers(database: KeysDatabase, account: string) {
  return database
    .selectFrom('keys.project_groups as member')
    .innerJoin('keys.groups as group', 'group.id', 'member.group_id')
    .select(['group.id', 'group.name', 'member.role', 'member.added_at'])
    .where('member.account', '=', account)
}

export function findGroupMember(
  database: KeysDatabase,
  account: string,
  groupId: string,
): Promise<GroupMemberRow | undefined> {
  return groupMembers(database, account).where('group.id', '=', groupId).executeTakeFirst()
}

export async function listGroupMembers(
  database: KeysDatabase,
  account: string,
  { after, limit, order }: { after: string | undefined; limit: number; order: Order },
): Promise<Page<GroupMemberRow>> {
  const rows = await groupMembers(database, account)
    .$if(after !== undefined, (all) => all.where('group.id', order === 'asc' ? '>' : '<', after!))
    .orderBy('group.id', order)
    .limit(limit + 1)
    .execute()
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}

export async function writeGroupMember(
  transaction: KeysDatabase,
  member: { account: string; groupId: string; role: MembershipRole },
): Promise<void> {
  const { account, groupId, role } = member
  await transaction
    .insertInto('keys.project_groups')
    .values({ account, group_id: groupId, role, added_at: sql`now()` })
    .onConflict((conflict) => conflict.columns(['account', 'group_id']).doUpdateSet({ role }))
    .execute()
}

export async function deleteGroupMember(transaction: KeysDatabase, account: string, groupId: string): Promise<void> {
  await transaction
    .deleteFrom('keys.project_groups')
    .where('account', '=', account)
    .where('group_id', '=', groupId)
    .execute()
}
