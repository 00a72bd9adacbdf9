/**
 * The keys and the projects of one person.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import { maskKey } from '@gateway/contracts/api-key'
import { listHeldKeys, listHeldProjects } from '../db/holdings.ts'
import type { UserRow } from '../db/people.ts'
import type { AdministrationHandlers } from './call.ts'
import { toPage, unixSeconds, withoutPrefix } from './pages.ts'
import { readUser } from './users.ts'

const KEY_PREFIX = 'key_'

export const holdingHandlers = {
  'userKeys.list': async (call, { user_id: id, after, limit }) => {
    const person = memberOf(await readUser(call, id))
    const part = { after: after && withoutPrefix(KEY_PREFIX, after), limit }
    return toPage(await listHeldKeys(call.transaction, person, part), (key) => ({
      id: `${KEY_PREFIX}${key.keyId}`,
      object: 'user.api_key' as const,
      name: key.name,
      redacted_value: maskKey(key.keyId),
      project: { id: `${PROJECT_PREFIX}${key.account}`, name: key.projectName, personal: key.isPersonal },
      created_at: unixSeconds(key.createdAt),
      expires_at: key.expiresAt && unixSeconds(key.expiresAt),
      last_used_at: key.lastUsedAt && unixSeconds(key.lastUsedAt),
    }))
  },

  'userProjects.list': async (call, { user_id: id, after, limit }) => {
    const person = memberOf(await readUser(call, id))
    const part = { after: after && withoutPrefix(PROJECT_PREFIX, after), limit }
    return toPage(await listHeldProjects(call.transaction, person, part), (project) => ({
      id: `${PROJECT_PREFIX}${project.account}`,
      object: 'user.project' as const,
      name: project.name,
      personal: project.isPersonal,
      role: project.role,
    }))
  },
} satisfies Partial<AdministrationHandlers>

function memberOf({ id: userId, issuer, subject, groups }: UserRow) {
  return { userId, issuer, subject, groups }
}
