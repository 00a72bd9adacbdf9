/**
 * The roles that exist. The identity provider gives those of the organization, and memberships those of a project.
 */

import type { Role } from '@gateway/contracts/administration/people'
import { GatewayError } from '@gateway/contracts/errors'
import type { AdministrationHandlers } from './call.ts'
import { toNextPage } from './pages.ts'
import { readUser } from './users.ts'

function predefined(id: string, name: string, resource: string, description: string, permissions: string[]): Role {
  const facts = { id, name, description, permissions, resource_type: resource }
  return { object: 'role', ...facts, predefined_role: true }
}

const ORGANIZATION = 'api.organization'
const PROJECT = 'api.project'

/** By id. */
const ROLES: readonly Role[] = [
  predefined('role-organization-owner', 'owner', ORGANIZATION, 'May make every call', [
    'api.organization.read',
    'api.organization.write',
  ]),
  predefined('role-organization-reader', 'reader', ORGANIZATION, 'Sees everything and changes nothing', [
    'api.organization.read',
  ]),
  predefined('role-project-member', 'member', PROJECT, 'Sees the project, and has keys of its own there', [
    'api.project.read',
    'api.project.api_keys.write',
  ]),
  predefined('role-project-owner', 'owner', PROJECT, 'Manages the project', ['api.project.read', 'api.project.write']),
]

const UNASSIGNED = {
  assignment_sources: null,
  created_at: null,
  created_by: null,
  created_by_user_obj: null,
  metadata: null,
  updated_at: null,
}

interface Paging {
  after?: string | undefined
  limit: number
  order?: 'asc' | 'desc' | undefined
}

function pageOf(roles: readonly Role[], { after, limit, order = 'asc' }: Paging) {
  const ordered = order === 'asc' ? roles : roles.toReversed()
  const rest = ordered.filter(({ id }) => after === undefined || (order === 'asc' ? id > after : id < after))
  return { items: rest.slice(0, limit), hasMore: rest.length > limit }
}

export const roleHandlers = {
  'roles.list': async (_call, paging) =>
    toNextPage(
      pageOf(ROLES, paging),
      (role) => role,
      ({ id }) => id,
    ),

  'roles.retrieve': async (_call, { role_id: id }) => {
    const role = ROLES.find((known) => known.id === id)
    if (!role) throw new GatewayError('NOT_FOUND', `There is no role ${id}`)
    return role
  },

  'userRoles.list': async (call, { user_id: userId, ...paging }) => {
    const { role } = await readUser(call, userId)
    const held = ROLES.filter(({ id }) => id === `role-organization-${role}`)
    const view = ({ object: _object, ...facts }: Role) => ({ ...facts, ...UNASSIGNED })
    return toNextPage(pageOf(held, paging), view, ({ id }) => id)
  },
} satisfies Partial<AdministrationHandlers>
