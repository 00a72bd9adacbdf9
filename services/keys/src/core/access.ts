/**
 * Decides whether a caller may make a call of the administration API.
 *
 * The role of a reader changes nothing; a reader who is a member of a project acts there as a member. A caller without a role
 * learns nothing about other projects, not even that they exist.
 */

import type { Access } from '@gateway/contracts/administration/operation'

export type OrganizationRole = 'reader' | 'owner'
export type MembershipRole = 'member' | 'owner'

export interface AccessFacts {
  /** In the organization. */
  role: OrganizationRole | null
  /** The project of the path; null where the path has none. */
  project: { exists: boolean; membership: MembershipRole | null } | null
}

export type AccessDecision = 'allowed' | 'forbidden' | 'not_found'

export function decideAccess(access: Access, { role, project }: AccessFacts): AccessDecision {
  const isVisible = project === null || (project.exists && (role !== null || project.membership !== null))
  if (!isVisible) return 'not_found'
  return isEnough(access, role, project?.membership ?? null) ? 'allowed' : 'forbidden'
}

function isEnough(access: Access, role: OrganizationRole | null, membership: MembershipRole | null): boolean {
  switch (access) {
    case 'signed in':
      return true
    case 'reader':
      return role !== null
    case 'owner':
      return role === 'owner'
    case 'reader or project owner':
      return role !== null || membership === 'owner'
    case 'project reader':
      return role !== null || membership !== null
    case 'project member':
      return role === 'owner' || membership !== null
    case 'project owner':
      return role === 'owner' || membership === 'owner'
  }
}

/** The role in the project that a permitted caller acts with. */
export function projectRoleOf({ role, project }: AccessFacts): MembershipRole | null {
  if (project === null) return null
  return role === 'owner' ? 'owner' : project.membership
}
