/**
 * The audit log of changes that do not come through the administration API: an owner's developer key, and an operator's commands.
 * Each call is the last statement of the change's transaction.
 */

import { randomBytes } from 'node:crypto'
import type { CallOrigin } from '@gateway/contracts/administration/envelope'
import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import { writeAuditEntry, type AuditEntry } from './core/audit-entry.ts'
import { sortableId } from './core/sortable-id.ts'
import { appendToAuditLog } from './db/audit-log.ts'
import type { KeysDatabase } from './db/tables.ts'
import { noteOwner } from './db/users.ts'

const OPERATOR = { kind: 'operator', id: 'operator', email: null } as const

/** An edge of the last release names no origin, and neither does the command line. */
export const UNKNOWN_ORIGIN = { requestId: null, address: null, userAgent: null }

/** Changes of a person's own account. A person who mints is known from then on. */
export async function auditByOwner(
  transaction: KeysDatabase,
  owner: KeyOwner,
  entries: readonly AuditEntry[],
  origin: CallOrigin | undefined,
): Promise<void> {
  if (entries.length === 0) return
  const { id, email } = await noteOwner(transaction, sortableId('user-', Date.now(), randomBytes), owner)
  const actor = { kind: 'user' as const, id, email }
  const texts = entries.map((entry) => writeAuditEntry(entry, actor, origin ?? UNKNOWN_ORIGIN))
  await appendToAuditLog(transaction, texts)
}

export async function auditByOperator(transaction: KeysDatabase, entries: readonly AuditEntry[]): Promise<void> {
  const texts = entries.map((entry) => writeAuditEntry(entry, OPERATOR, UNKNOWN_ORIGIN))
  await appendToAuditLog(transaction, texts)
}
