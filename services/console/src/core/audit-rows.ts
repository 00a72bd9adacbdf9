/**
 * Rows of the audit log in words, and its filters as the gateway takes them.
 */

import { auditEventTypes, type AuditLog } from '@gateway/contracts/administration/audit-logs'

export interface AuditActor {
  /** `user-…`, `key_…` of an admin key, `operator`, `payment_system`. */
  id: string
  name: string
  kind: string
}

const OPERATOR = 'operator'
const PAYMENT_SYSTEM = 'payment_system'

export function actorOf({ actor }: Pick<AuditLog, 'actor'>): AuditActor {
  if (actor.type === 'api_key') return { id: actor.api_key.id, name: actor.api_key.id, kind: 'admin key' }
  const { id, email } = actor.session.user
  if (id === OPERATOR) return { id, name: 'operator', kind: 'command line' }
  if (id === PAYMENT_SYSTEM) return { id, name: 'payment system', kind: 'signed call' }
  return { id, name: email ?? id, kind: 'sign-in' }
}

export interface Change {
  name: string
  before: string
  after: string
}

/** Every value that a row names, by its name. */
export function changesOf({ before = {}, after = {} }: Pick<AuditLog, 'before' | 'after'>): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.map((name) => ({ name, before: show(before[name]), after: show(after[name]) }))
}

function show(value: unknown): string {
  if (value === undefined) return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The object of the change, as the type's own member names it. */
export function objectOf(row: AuditLog): string | null {
  const details: unknown = row[row.type]
  if (typeof details !== 'object' || details === null) return null
  const { id, resource_id: resource } = details as { id?: unknown; resource_id?: unknown }
  const named = id ?? resource
  return typeof named === 'string' ? named : null
}

/** `project.archived` as `Project archived`, `tenant.admin_api_key.created` as `Admin API key created`. */
export function wordsOf(type: string): string {
  const words = type
    .replace(/^tenant\./, '')
    .replace(/[._]/g, ' ')
    .replace(/\bapi\b/, 'API')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export const EVENT_TYPES = auditEventTypes.map((type) => ({ value: type, label: wordsOf(type) }))

export interface AuditFilters {
  /** Days of UTC, both included: `2026-11-01`. */
  from?: string
  to?: string
  actor?: string
  type?: string
  project?: string
}

const DAY_SECONDS = 86_400

/** An actor with an `@` is an e-mail address. A day that does not exist filters nothing. */
export function queryOf({ from, to, actor, type, project }: AuditFilters) {
  const gte = from ? Date.parse(from) / 1_000 : NaN
  const lt = to ? Date.parse(to) / 1_000 + DAY_SECONDS : NaN
  const range = { ...(Number.isFinite(gte) && { gte }), ...(Number.isFinite(lt) && { lt }) }
  return {
    ...(Object.keys(range).length > 0 && { effective_at: range }),
    ...(actor && (actor.includes('@') ? { actor_emails: [actor] } : { actor_ids: [actor] })),
    ...(type && { event_types: [type] }),
    ...(project && { project_ids: [project] }),
  }
}
