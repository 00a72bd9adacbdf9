/**
 * Repairs of the admission store in the audit log, with the state that the store had and the true one. Keys proves the repairer's
 * credential again, as for each administration call. Metering has no part of the log: it reports its repairs before it makes them,
 * so no repair is without its row.
 */

import type { NoteRepairsReply, NoteRepairsRequest, Repair, Repairer } from '@gateway/contracts/reconcile-api'
import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import { GatewayError } from '@gateway/contracts/errors'
import { OPERATOR, proveCredential } from './credentials.ts'
import { type AuditEntry, writeAuditEntry } from '../core/audit-entry.ts'
import { UNKNOWN_ORIGIN } from '../audit-change.ts'
import { appendToAuditLog } from '../db/audit-log.ts'
import type { KeysDatabase } from '../db/tables.ts'
import type { KeysContext } from '../keys-context.ts'

/** The last statement of the repair's transaction. */
export type Append = (transaction: KeysDatabase, entries: readonly AuditEntry[]) => Promise<void>

/** Throws where the repairer may not repair. A caller of release 0.1.0 is the operator, who names nobody. */
export async function openRepairLog(
  context: Pick<KeysContext, 'database' | 'logger' | 'refusedSignIns' | 'changes'>,
  by: Repairer | undefined,
): Promise<Append> {
  const caller = by ? await proveCredential(context, by) : OPERATOR
  if (caller.role !== 'owner') throw new GatewayError('FORBIDDEN', 'A repair needs an owner of the organization')
  const { kind, id, email, createdBy: userId } = caller
  return async (transaction, entries) => {
    const texts = entries.map((entry) =>
      writeAuditEntry(entry, { kind, id, email, userId }, by?.origin ?? UNKNOWN_ORIGIN),
    )
    await appendToAuditLog(transaction, texts)
  }
}

export function repaired({ account, kind, store, truth }: Repair): AuditEntry {
  const id = `${PROJECT_PREFIX}${account}`
  const after = { [kind]: truth }
  const details = { id, changes_requested: after }
  return { type: 'account.repaired', projectId: id, details, before: { [kind]: store }, after }
}

export async function noteRepairs(
  context: KeysContext,
  { repairs, by }: NoteRepairsRequest,
): Promise<NoteRepairsReply> {
  const append = await openRepairLog(context, by)
  await context.database.transaction().execute((transaction) => append(transaction, repairs.map(repaired)))
  return { kind: 'noted' }
}
