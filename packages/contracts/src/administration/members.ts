/**
 * The members of a project: people, and groups of the identity provider.
 */

import * as z from 'zod'
import { cursor, deleted, listOf, nextListOf, nothing, order, unixTime, type Operation } from './operation.ts'

const membershipRole = z.enum(['member', 'owner'])

const projectUser = z.object({
  id: z.string(),
  object: z.literal('organization.project.user'),
  added_at: unixTime,
  email: z.string().nullable(),
  name: z.string().nullable(),
  role: membershipRole,
})
export type ProjectUser = z.input<typeof projectUser>

const USERS = '/v1/organization/projects/{project_id}/users'
const USER = '/v1/organization/projects/{project_id}/users/{user_id}'

export const projectUserOperations = {
  'projectUsers.list': {
    method: 'GET',
    path: USERS,
    service: 'keys',
    access: 'project reader',
    query: z.strictObject(cursor),
    body: nothing,
    output: listOf(projectUser),
    about: 'lists the people who are members themselves',
    deviation: 'people whom a group brings are not listed',
  },
  'projectUsers.create': {
    method: 'POST',
    path: USERS,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: z.strictObject({
      role: membershipRole,
      user_id: z.string().min(1).nullish(),
      email: z.string().min(1).max(320).nullish(),
    }),
    output: projectUser,
    about: 'makes a person a member, by id or e-mail',
    deviation: 'the person has signed in before; a group can be added before that',
  },
  'projectUsers.retrieve': {
    method: 'GET',
    path: USER,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: projectUser,
    about: 'shows a member',
  },
  'projectUsers.update': {
    method: 'POST',
    path: USER,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: z.strictObject({ role: membershipRole.nullish() }),
    output: projectUser,
    about: "changes a member's role",
  },
  'projectUsers.delete': {
    method: 'DELETE',
    path: USER,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: nothing,
    output: deleted('organization.project.user.deleted'),
    about: 'ends a membership, and at once the keys of that person in the project',
  },
} as const satisfies Record<string, Operation>

const projectGroup = z.object({
  object: z.literal('project.group'),
  project_id: z.string(),
  group_id: z.string(),
  group_name: z.string(),
  group_type: z.literal('group'),
  created_at: unixTime,
  /** Ours. */
  role: membershipRole,
})
export type ProjectGroup = z.input<typeof projectGroup>

const GROUPS = '/v1/organization/projects/{project_id}/groups'
const GROUP = '/v1/organization/projects/{project_id}/groups/{group_id}'

export const projectGroupOperations = {
  'projectGroups.list': {
    method: 'GET',
    path: GROUPS,
    service: 'keys',
    access: 'project reader',
    query: z.strictObject({ ...cursor, ...order }),
    body: nothing,
    output: nextListOf(projectGroup),
    about: 'lists the groups that are members, by id',
  },
  'projectGroups.create': {
    method: 'POST',
    path: GROUPS,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: z.strictObject({ group_id: z.string().min(1), role: membershipRole }),
    output: projectGroup,
    about: 'makes a group a member, or changes its role',
    deviation: '`role` is `member` or `owner`',
  },
  'projectGroups.retrieve': {
    method: 'GET',
    path: GROUP,
    service: 'keys',
    access: 'project reader',
    query: z.strictObject({ group_type: z.enum(['group', 'tenant_group']).optional() }),
    body: nothing,
    output: projectGroup,
    about: 'shows a group of the project',
  },
  'projectGroups.delete': {
    method: 'DELETE',
    path: GROUP,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: nothing,
    output: z.object({ object: z.literal('project.group.deleted'), deleted: z.literal(true) }),
    about: 'ends the membership of a group, and at once the keys of people who have no other',
  },
} as const satisfies Record<string, Operation>
