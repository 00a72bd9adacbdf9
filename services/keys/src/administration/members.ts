/**
 * The members of projects. The end of a membership ends the keys of that person in the project with it.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { ProjectGroup, ProjectUser } from '@gateway/contracts/administration/members'
import { GatewayError } from '@gateway/contracts/errors'
import {
  deleteGroupMember,
  deleteMember,
  findGroupMember,
  findMember,
  listGroupMembers,
  listMembers,
  writeGroupMember,
  writeMember,
  type GroupMemberRow,
  type MemberRow,
} from '../db/members.ts'
import { findLostIn } from '../db/lost-access.ts'
import { findUsersByEmail, type UserRow } from '../db/people.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { confirmRemoval } from './confirm-removal.ts'
import { readGroup } from './groups.ts'
import { toNextPage, toPage, unixSeconds } from './pages.ts'
import { lockProject, lockSharedProject, readProject } from './project-of-call.ts'
import { endProjectKeysOf, readUser } from './users.ts'

function view({ id, email, name, role, added_at }: MemberRow): ProjectUser {
  return { id, object: 'organization.project.user', added_at: unixSeconds(added_at), email, name, role }
}

export const projectUserHandlers = {
  'projectUsers.list': async (call, input) => {
    const { after, limit } = input
    const { tag } = await readProject(call, input)
    return toPage(await listMembers(call.transaction, tag, { after, limit }), view)
  },

  'projectUsers.create': async (call, input) => {
    const { tag: account } = await lockSharedProject(call, input)
    const { id: userId } = await personOf(call, input)
    const known = await findMember(call.transaction, account, userId)
    if (known?.role === input.role) return view(known)
    await writeMember(call.transaction, { account, userId, role: input.role })
    audited(call, input.project_id, userId, known?.role, input.role)
    return view((await findMember(call.transaction, account, userId))!)
  },

  'projectUsers.retrieve': async (call, input) => {
    const { tag } = await readProject(call, input)
    return view(await readMember(call, tag, input.user_id))
  },

  'projectUsers.update': async (call, input) => {
    const { tag: account } = await lockSharedProject(call, input)
    const member = await readMember(call, account, input.user_id)
    if (input.role == null || input.role === member.role) return view(member)
    await writeMember(call.transaction, { account, userId: member.id, role: input.role })
    audited(call, input.project_id, member.id, member.role, input.role)
    return view({ ...member, role: input.role })
  },

  'projectUsers.delete': async (call, input) => {
    const { tag: account } = await lockProject(call, input)
    const { project_id: projectId, user_id: id } = input
    const member = await findMember(call.transaction, account, id)
    if (member) await endMembership(call, account, member, projectId)
    else await confirmRemoval(call, { type: 'user.deleted', projectId, id }, [account], noMember(id))
    return { id, object: 'organization.project.user.deleted' as const, deleted: true as const }
  },
} satisfies Partial<AdministrationHandlers>

async function endMembership(
  call: AdministrationCall,
  account: string,
  { id, role }: MemberRow,
  projectId: string,
): Promise<void> {
  await deleteMember(call.transaction, account, id)
  const change = await endProjectKeysOf(call, account, id)
  call.audit({ type: 'user.deleted', projectId, details: { id }, before: { role } })
  call.afterCommit(() => call.context.changes.announce(change))
}

/** OpenAI's events of a membership. */
function audited(
  { audit }: AdministrationCall,
  projectId: string,
  id: string,
  before: MemberRow['role'] | undefined,
  role: MemberRow['role'],
): void {
  if (before === undefined) audit({ type: 'user.added', projectId, details: { id, data: { role } }, after: { role } })
  else {
    const details = { id, changes_requested: { role } }
    audit({ type: 'user.updated', projectId, details, before: { role: before }, after: { role } })
  }
}

interface Named {
  user_id?: string | null | undefined
  email?: string | null | undefined
}

async function personOf(call: AdministrationCall, { user_id: id, email }: Named): Promise<UserRow> {
  if (id != null) return readUser(call, id)
  if (email == null) throw invalid('user_id', 'is required, or email')
  const [user, other] = await findUsersByEmail(call.transaction, email)
  if (!user) throw invalid('email', 'nobody has signed in with it yet; a group can be a member before that')
  if (other) throw invalid('email', 'several people have it; name one of them by user_id')
  return user
}

function invalid(param: string, sentence: string): GatewayError {
  return new GatewayError('VALIDATION_ERROR', `${param}: ${sentence}`, { param })
}

async function readMember({ transaction }: AdministrationCall, account: string, id: string): Promise<MemberRow> {
  const member = await findMember(transaction, account, id)
  if (!member) throw noMember(id)
  return member
}

function noMember(id: string): GatewayError {
  return new GatewayError('NOT_FOUND', `The project has no member ${id}`)
}

function viewGroup(account: string, { id, name, role, added_at }: GroupMemberRow): ProjectGroup {
  return {
    object: 'project.group',
    project_id: `${PROJECT_PREFIX}${account}`,
    group_id: id,
    group_name: name,
    group_type: 'group',
    created_at: unixSeconds(added_at),
    role,
  }
}

export const projectGroupHandlers = {
  'projectGroups.list': async (call, { after, limit, order = 'asc', ...input }) => {
    const { tag } = await readProject(call, input)
    const page = await listGroupMembers(call.transaction, tag, { after, limit, order })
    return toNextPage(
      page,
      (group) => viewGroup(tag, group),
      (group) => group.group_id,
    )
  },

  'projectGroups.create': async (call, input) => {
    const { tag: account } = await lockSharedProject(call, input)
    const { id: groupId } = await readGroup(call, input.group_id)
    const known = await findGroupMember(call.transaction, account, groupId)
    if (known?.role === input.role) return viewGroup(account, known)
    await writeGroupMember(call.transaction, { account, groupId, role: input.role })
    call.audit({
      type: 'role.assignment.created',
      projectId: input.project_id,
      details: assignment(input.project_id, groupId, input.role),
      ...(known && { before: { role: known.role } }),
      after: { role: input.role },
    })
    return viewGroup(account, (await findGroupMember(call.transaction, account, groupId))!)
  },

  'projectGroups.retrieve': async (call, input) => {
    const { tag } = await readProject(call, input)
    return viewGroup(tag, await readGroupMember(call, tag, input.group_id))
  },

  'projectGroups.delete': async (call, input) => {
    const { tag: account } = await lockProject(call, input)
    const { project_id: projectId, group_id: id } = input
    const member = await findGroupMember(call.transaction, account, id)
    if (member) await endGroupMembership(call, account, member, projectId)
    else {
      await readGroup(call, id)
      await confirmRemoval(call, { type: 'role.assignment.deleted', projectId, id }, [account], noGroup(id))
    }
    return { object: 'project.group.deleted' as const, deleted: true as const }
  },
} satisfies Partial<AdministrationHandlers>

async function endGroupMembership(
  call: AdministrationCall,
  account: string,
  { id, role }: GroupMemberRow,
  projectId: string,
): Promise<void> {
  await deleteGroupMember(call.transaction, account, id)
  for (const userId of await findLostIn(call.transaction, account)) {
    const change = await endProjectKeysOf(call, account, userId)
    call.afterCommit(() => call.context.changes.announce(change))
  }
  const details = assignment(projectId, id, role)
  call.audit({ type: 'role.assignment.deleted', projectId, details, before: { role } })
}

function assignment(projectId: string, groupId: string, role: MemberRow['role']) {
  return {
    id: `role-project-${role}`,
    principal_id: groupId,
    principal_type: 'group',
    resource_id: projectId,
    resource_type: 'project',
  }
}

async function readGroupMember(
  { transaction }: AdministrationCall,
  account: string,
  id: string,
): Promise<GroupMemberRow> {
  const member = await findGroupMember(transaction, account, id)
  if (!member) throw noGroup(id)
  return member
}

function noGroup(id: string): GatewayError {
  return new GatewayError('NOT_FOUND', `The project has no group ${id}`)
}
