/**
 * Groups of the identity provider, and their people by their last tokens.
 */

import type { Group } from '@gateway/contracts/administration/people'
import { GatewayError } from '@gateway/contracts/errors'
import { findGroup, listGroups, listUsers, type GroupRow, type UserRow } from '../db/people.ts'
import { groupIdOf, nameGroups } from '../db/users.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { toNextPage, unixSeconds } from './pages.ts'
import { readUser } from './users.ts'

function view({ id, name, created_at }: GroupRow): Group {
  const createdAt = unixSeconds(created_at)
  return { id, object: 'group', name, created_at: createdAt, group_type: 'group', is_scim_managed: true }
}

function viewMember({ id, email, name, subject }: UserRow) {
  return { id, email, name: name ?? email ?? subject }
}

export const groupHandlers = {
  'groups.list': async ({ transaction }, { after, limit, order = 'asc' }) =>
    toNextPage(await listGroups(transaction, { after, limit, order }), view, ({ id }) => id),

  'groups.create': async (call, { name }) => {
    const id = groupIdOf(name)
    const isNew = (await nameGroups(call.transaction, [name])) > 0
    if (isNew) call.audit({ type: 'group.created', details: { id, data: { group_name: name } } })
    return view(await readGroup(call, id))
  },

  'groups.retrieve': async (call, { group_id: id }) => view(await readGroup(call, id)),

  'groupUsers.list': async (call, { group_id: id, after, limit, order = 'asc' }) => {
    const { name: group } = await readGroup(call, id)
    const page = await listUsers(call.transaction, { after, limit, order, emails: null, search: null, group })
    return toNextPage(page, viewMember, (user) => user.id)
  },

  'groupUsers.retrieve': async (call, { group_id: groupId, user_id: id }) => {
    const group = await readGroup(call, groupId)
    const user = await readUser(call, id)
    if (!user.groups.includes(group.name)) throw new GatewayError('NOT_FOUND', `The group has no user ${id}`)
    return { ...viewMember(user), is_service_account: false as const, picture: null, user_type: 'user' as const }
  },
} satisfies Partial<AdministrationHandlers>

export async function readGroup(
  { transaction }: Pick<AdministrationCall, 'transaction'>,
  id: string,
): Promise<GroupRow> {
  const group = await findGroup(transaction, id)
  if (!group) throw new GatewayError('NOT_FOUND', `There is no group ${id}; groups.create makes its name known`)
  return group
}
