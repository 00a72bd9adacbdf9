/**
 * The parts of an administration call, for its handler. Its changes, their rows in the audit log and their outbox rows are one
 * transaction; the reply waits for the announcement of the changes.
 */

import type { CallOrigin } from '@gateway/contracts/administration/envelope'
import type { Input, OperationsOf, Output } from '@gateway/contracts/administration/operations'
import type { AuditEntry } from '../core/audit-entry.ts'
import type { MembershipRole, OrganizationRole } from '../core/access.ts'
import type { KeysDatabase } from '../db/tables.ts'
import type { KeysContext } from '../keys-context.ts'

/** Proven. */
export interface AdministrationCaller {
  kind: 'admin_key' | 'user' | 'operator' | 'system'
  /** `key_…` of an admin key, `user-…` of a person, `operator`, `payment_system`. */
  id: string
  name: string
  email: string | null
  /** In the organization. */
  role: OrganizationRole | null
  /** The person who created the admin key. */
  createdBy?: string
  /** Of a sign-in; null for others. */
  person: { issuer: string; subject: string; groups: readonly string[] } | null
}

export interface AdministrationCall {
  context: KeysContext
  /** A call that only reads has no transaction: each of its statements sees the newest state. */
  transaction: KeysDatabase
  caller: AdministrationCaller
  /** In the project of the path: an organization's owner has the role of its owner. Null where the path has no project. */
  projectRole: MembershipRole | null
  origin: CallOrigin
  /** Throws where the caller's membership has ended, or is a weaker one, since the frame decided access. */
  confirmAccess(): Promise<void>
  audit(entry: AuditEntry): void
  /** Runs after the commit and before the reply: it makes the change hold everywhere. */
  afterCommit(announce: () => Promise<void>): void
}

export type AdministrationHandlers = {
  [Name in OperationsOf<'keys'>]: (call: AdministrationCall, input: Input<Name>) => Promise<Output<Name>>
}
