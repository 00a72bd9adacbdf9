/**
 * An entry of the audit log, as it is stored and hashed. It masks each key that a handler passes.
 */

import { isDeepStrictEqual } from 'node:util'
import type { AuditEventType } from '@gateway/contracts/administration/audit-logs'
import type { CallOrigin } from '@gateway/contracts/administration/envelope'
import { maskAdminKey } from '@gateway/contracts/admin-key'
import { KEY_ID_LENGTH, maskKey } from '@gateway/contracts/api-key'

/** One change: OpenAI's event type, and its data. */
export interface AuditEntry {
  type: AuditEventType
  /** `proj_…`; left out for changes of the organization. */
  projectId?: string
  /** The member of the row that has the type's name in OpenAI's shape. */
  details: Record<string, unknown>
  /** Ours: the values before and after the change, as far as they differ. */
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}

/** As far as known. */
export type AuditOrigin = { [Name in keyof CallOrigin]: CallOrigin[Name] | null }

export interface AuditActor {
  kind: 'admin_key' | 'user' | 'operator' | 'system' | 'unknown'
  id: string
  email: string | null
  /** The person who created an admin key. */
  userId?: string | undefined
}

/** True for a repeated call, whose values hold already. The log has changes alone. */
export function changesNothing({ before, after }: AuditEntry): boolean {
  return before !== undefined && after !== undefined && isDeepStrictEqual(before, after)
}

/** The text of the column `entry`. Readers parse it by `storedAuditEntry`. */
export function writeAuditEntry(
  { type, projectId, details, before, after }: AuditEntry,
  actor: AuditActor,
  { requestId, address, userAgent }: AuditOrigin,
): string {
  const entry = { type, project: projectId, actor, details, before, after, requestId, address, userAgent }
  return JSON.stringify(entry, (_name, value: unknown) => (typeof value === 'string' ? storable(value) : value))
}

const KEY_LIKE = new RegExp(`svc_(admin_)?([0-9A-Za-z]{${KEY_ID_LENGTH}})[0-9A-Za-z]{8,}`, 'g')

/** PostgreSQL's JSON holds neither NUL nor half a surrogate pair. */
function storable(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('\0', '\u{fffd}')
    .replace(KEY_LIKE, (_key, admin: string | undefined, keyId: string) =>
      admin === undefined ? maskKey(keyId) : maskAdminKey(keyId),
    )
}
