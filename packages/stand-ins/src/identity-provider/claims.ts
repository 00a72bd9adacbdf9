/**
 * The claims of those who sign in, by their names: `owner` and `reader` have a role, as have `owner-1` or `reader-eve`.
 * `ada@search` is in the group `search`, and `ada@search,ads` in both.
 */

export interface PersonClaims {
  name: string
  email: string
  roles: string[]
  groups: string[]
}

const ROLES: Record<string, string> = { owner: 'gateway-owner', reader: 'gateway-reader' }

export function claimsOf(subject: string): PersonClaims {
  const [name = '', groups = ''] = subject.split('@', 2)
  const role = ROLES[name.split('-', 1)[0]!]
  return {
    name,
    email: `${encodeURIComponent(name)}@example.com`,
    roles: role === undefined ? [] : [role],
    groups: groups.split(',').filter((group) => group !== ''),
  }
}
