/**
 * People, their groups and their roles in the organization. The identity provider owns them; the gateway knows them from tokens.
 */

import * as z from 'zod'
import { cursor, deleted, listOf, nextListOf, nothing, order, unixTime, type Operation } from './operation.ts'

const user = z.object({
  id: z.string(),
  object: z.literal('organization.user'),
  added_at: unixTime,
  created: unixTime,
  email: z.string().nullable(),
  name: z.string().nullable(),
  role: z.enum(['owner', 'reader']).nullable(),
  is_service_account: z.literal(false),
  is_scim_managed: z.boolean(),
})
export type OrganizationUser = z.input<typeof user>

const USERS = '/v1/organization/users'
const USER = '/v1/organization/users/{user_id}'

export const userOperations = {
  'users.list': {
    method: 'GET',
    path: USERS,
    service: 'keys',
    access: 'reader',
    query: z.strictObject({
      ...cursor,
      emails: z.array(z.string().min(1).max(320)).min(1).max(100).optional(),
      search: z.string().trim().max(256).optional(),
    }),
    body: nothing,
    output: listOf(user),
    about: 'lists the people who have signed in, newest first',
    deviation: '`search` (ours): a part of the name or of the email',
  },
  'users.retrieve': {
    method: 'GET',
    path: USER,
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: user,
    about: 'shows a person',
  },
  'users.update': {
    method: 'POST',
    path: USER,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({
      role: z.string().nullish(),
      role_id: z.string().nullish(),
      developer_persona: z.string().nullish(),
      technical_level: z.string().nullish(),
    }),
    output: user,
    about: 'shows the person; no field changes here',
    deviation: 'another role is refused (400): the identity provider gives roles',
  },
  'users.delete': {
    method: 'DELETE',
    path: USER,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: deleted('organization.user.deleted'),
    about: "ends all keys of a person, the developer key too, and the person's memberships",
    deviation: 'a later sign-in brings the person back, without memberships; lock people out at the identity provider',
  },
} as const satisfies Record<string, Operation>

const heldKey = z.object({
  /** `key_` + the key id. */
  id: z.string(),
  object: z.literal('user.api_key'),
  name: z.string(),
  redacted_value: z.string(),
  project: z.object({ id: z.string(), name: z.string().nullable(), personal: z.boolean() }),
  created_at: unixTime,
  expires_at: unixTime.nullable(),
  last_used_at: unixTime.nullable(),
})
export type HeldKey = z.input<typeof heldKey>

const heldProject = z.object({
  id: z.string(),
  object: z.literal('user.project'),
  name: z.string().nullable(),
  /** The person's own account. */
  personal: z.boolean(),
  role: z.enum(['member', 'owner']),
})
export type HeldProject = z.input<typeof heldProject>

/** Ours. */
export const userHoldingOperations = {
  'userKeys.list': {
    method: 'GET',
    path: '/admin/v1/users/{user_id}/api_keys',
    service: 'keys',
    access: 'reader',
    query: z.strictObject(cursor),
    body: nothing,
    output: listOf(heldKey),
    about: 'lists the live keys that a person created, newest first',
  },
  'userProjects.list': {
    method: 'GET',
    path: '/admin/v1/users/{user_id}/projects',
    service: 'keys',
    access: 'reader',
    query: z.strictObject(cursor),
    body: nothing,
    output: listOf(heldProject),
    about: "lists the projects of a person by id, those by the groups of the last token too, with the person's role",
  },
} as const satisfies Record<string, Operation>

const group = z.object({
  id: z.string(),
  object: z.literal('group'),
  name: z.string(),
  created_at: unixTime,
  group_type: z.literal('group'),
  is_scim_managed: z.boolean(),
})
export type Group = z.input<typeof group>

const groupUser = z.object({ id: z.string(), email: z.string().nullable(), name: z.string() })

const GROUPS = '/v1/organization/groups'
const GROUP = '/v1/organization/groups/{group_id}'

export const groupOperations = {
  'groups.list': {
    method: 'GET',
    path: GROUPS,
    service: 'keys',
    access: 'reader',
    query: z.strictObject({ ...cursor, ...order }),
    body: nothing,
    output: nextListOf(group),
    about: 'lists the groups that tokens or administrators have named, by id',
  },
  'groups.create': {
    method: 'POST',
    path: GROUPS,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({ name: z.string().min(1).max(256) }),
    output: group,
    about: 'makes a group of the identity provider known before a member signs in',
    deviation: 'the same name has the same id each time; members and other names come from the identity provider',
  },
  'groups.retrieve': {
    method: 'GET',
    path: GROUP,
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: group,
    about: 'shows a group',
  },
  'groupUsers.list': {
    method: 'GET',
    path: `${GROUP}/users`,
    service: 'keys',
    access: 'reader',
    query: z.strictObject({ ...cursor, ...order }),
    body: nothing,
    output: nextListOf(groupUser),
    about: 'lists the people whose last token named the group',
  },
  'groupUsers.retrieve': {
    method: 'GET',
    path: `${GROUP}/users/{user_id}`,
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: z.object({
      ...groupUser.shape,
      is_service_account: z.literal(false),
      picture: z.null(),
      user_type: z.literal('user'),
    }),
    about: 'shows a person of a group',
  },
} as const satisfies Record<string, Operation>

const role = z.object({
  id: z.string(),
  object: z.literal('role'),
  name: z.string(),
  description: z.string().nullable(),
  permissions: z.array(z.string()),
  predefined_role: z.literal(true),
  resource_type: z.string(),
})
export type Role = z.input<typeof role>

const assignedRole = z.object({
  ...role.omit({ object: true }).shape,
  assignment_sources: z.null(),
  created_at: z.null(),
  created_by: z.null(),
  created_by_user_obj: z.null(),
  metadata: z.null(),
  updated_at: z.null(),
})

export const roleOperations = {
  'roles.list': {
    method: 'GET',
    path: '/v1/organization/roles',
    service: 'keys',
    access: 'reader',
    query: z.strictObject({ ...cursor, ...order }),
    body: nothing,
    output: nextListOf(role),
    about: 'lists the four roles that exist, by id',
    deviation: 'roles are predefined; the identity provider gives those of the organization',
  },
  'roles.retrieve': {
    method: 'GET',
    path: '/v1/organization/roles/{role_id}',
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: role,
    about: 'shows a role',
  },
  'userRoles.list': {
    method: 'GET',
    path: `${USER}/roles`,
    service: 'keys',
    access: 'reader',
    query: z.strictObject({ ...cursor, ...order }),
    body: nothing,
    output: nextListOf(assignedRole),
    about: "lists the role of the person's last token",
  },
} as const satisfies Record<string, Operation>
