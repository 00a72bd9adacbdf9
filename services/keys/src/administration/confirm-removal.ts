/**
 * A removal that is repeated. The first call may have failed before its change held everywhere. Before that, no reply to the
 * repeated one is a 200 or a 404.
 */

import type { AuditEventType } from '@gateway/contracts/administration/audit-logs'
import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { GatewayError } from '@gateway/contracts/errors'
import { hasAudited } from '../db/audit-log.ts'
import { readLeftChanges } from '../db/outbox.ts'
import { accountsOfUser } from '../db/people.ts'
import type { KeysContext } from '../keys-context.ts'
import type { AdministrationCall } from './call.ts'
import { withoutPrefix } from './pages.ts'

/** Of a thing that is not there. Throws `unknown` where the audit log has no removal of it. */
export async function confirmRemoval(
  call: AdministrationCall,
  removal: { type: AuditEventType; projectId: string | null; id: string },
  accounts: readonly string[],
  unknown: GatewayError,
): Promise<void> {
  if (!(await hasAudited(call.transaction, removal))) throw unknown
  call.afterCommit(() => announceLeft(call.context, accounts))
}

/** The accounts that a removal changes. */
export async function accountsOfRemoval(
  { database }: Pick<KeysContext, 'database'>,
  { project_id: projectId, user_id: userId }: Record<string, unknown>,
): Promise<string[]> {
  if (typeof projectId === 'string') return [withoutPrefix(PROJECT_PREFIX, projectId)]
  return typeof userId === 'string' ? accountsOfUser(database, userId) : []
}

/** Announces the changes that earlier calls left. One that fails keeps no other one back. */
export async function announceLeft(
  { urgent, changes }: Pick<KeysContext, 'urgent' | 'changes'>,
  accounts: readonly string[],
): Promise<void> {
  if (accounts.length === 0) return
  const left = await readLeftChanges(urgent, accounts)
  const outcomes = await Promise.allSettled(left.map((change) => changes.announce(change)))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
