/**
 * Reads an entry of the audit log, and writes it in OpenAI's shape.
 */

import type { AuditLog } from '@gateway/contracts/administration/audit-logs'
import * as z from 'zod'

const members = z.record(z.string(), z.unknown())

const storedEntry = z.object({
  type: z.string(),
  project: z.string().optional(),
  actor: z.object({
    kind: z.enum(['admin_key', 'user', 'operator', 'system', 'unknown']),
    id: z.string(),
    email: z.string().nullable(),
    userId: z.string().optional(),
  }),
  details: members,
  before: members.optional(),
  after: members.optional(),
  requestId: z.string().nullable(),
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
})
type StoredEntry = z.infer<typeof storedEntry>

const ID_PREFIX = 'audit_log-'
const ID_DIGITS = 16

export function auditId(seq: number): string {
  return ID_PREFIX + String(seq).padStart(ID_DIGITS, '0')
}

/** Null where no row can have this id. */
export function seqOfAuditId(id: string): number | null {
  if (!id.startsWith(ID_PREFIX)) return null
  const digits = id.slice(ID_PREFIX.length)
  return digits.length === ID_DIGITS && /^\d+$/.test(digits) ? Number(digits) : null
}

export interface LogRow {
  seq: number
  atMs: number
  entry: string
  hash: Uint8Array
  projectName: string | null
}

export function toAuditLog({ seq, atMs, entry: text, hash, projectName }: LogRow): AuditLog {
  const entry = storedEntry.parse(JSON.parse(text))
  const { type, project, details, before, after, requestId, address, userAgent } = entry
  return {
    id: auditId(seq),
    type,
    effective_at: Math.floor(atMs / 1_000),
    ...(project !== undefined && { project: { id: project, ...(projectName !== null && { name: projectName }) } }),
    actor: actorOf(entry),
    [type]: details,
    request_id: requestId,
    ip_address: address,
    user_agent: userAgent,
    ...(before && { before }),
    ...(after && { after }),
    hash: Buffer.from(hash).toString('hex'),
  }
}

function actorOf({ actor: { kind, id, email, userId }, address, userAgent }: StoredEntry): AuditLog['actor'] {
  if (kind === 'admin_key') {
    return { type: 'api_key', api_key: { id, type: 'user', ...(userId !== undefined && { user: { id: userId } }) } }
  }
  const user = { id, ...(email !== null && { email }) }
  const from = {
    ...(address !== null && { ip_address: address }),
    ...(userAgent !== null && { user_agent: userAgent }),
  }
  return { type: 'session', session: { user, ...from } }
}
