/**
 * The audit log: read with OpenAI's filters, and verified.
 */

import * as z from 'zod'
import { before, cursor, flag, listOf, nothing, unixTime, type Operation } from './operation.ts'

/** Every type of a row that the gateway writes: OpenAI's, and its own for changes that OpenAI has not. */
export const auditEventTypes = [
  'account.repaired',
  'account.updated',
  'api_key.created',
  'api_key.deleted',
  'api_key.updated',
  'backend.updated',
  'export.requested',
  'group.created',
  'keys.resealed',
  'login.failed',
  'organization.updated',
  'project.archived',
  'project.created',
  'project.updated',
  'rate_limit.deleted',
  'rate_limit.updated',
  'role.assignment.created',
  'role.assignment.deleted',
  'service_account.created',
  'service_account.deleted',
  'service_account.updated',
  'tenant.admin_api_key.created',
  'tenant.admin_api_key.deleted',
  'user.added',
  'user.deleted',
  'user.updated',
  'webhook.enabled',
  'webhook.redelivered',
] as const
export type AuditEventType = (typeof auditEventTypes)[number]

const MOST_VALUES = 100
const values = z.array(z.string().min(1).max(256)).min(1).max(MOST_VALUES).optional()
const seconds = z.coerce.number().int().min(0).max(1e11).optional()

const actorUser = z.object({ id: z.string(), email: z.string().optional() })

const auditLog = z.looseObject({
  id: z.string(),
  type: z.string(),
  effective_at: unixTime,
  project: z.object({ id: z.string(), name: z.string().optional() }).optional(),
  actor: z.union([
    z.object({
      type: z.literal('session'),
      session: z.object({
        user: actorUser,
        ip_address: z.string().optional(),
        user_agent: z.string().optional(),
      }),
    }),
    z.object({
      type: z.literal('api_key'),
      api_key: z.object({ id: z.string(), type: z.literal('user'), user: actorUser.optional() }),
    }),
  ]),
  /** Ours. */
  request_id: z.string().nullable(),
  ip_address: z.string().nullable(),
  user_agent: z.string().nullable(),
  before: z.record(z.string(), z.unknown()).optional(),
  after: z.record(z.string(), z.unknown()).optional(),
  /** SHA-256, hexadecimal. */
  hash: z.string(),
})
export type AuditLog = z.input<typeof auditLog>

const auditProblems = ['changed', 'removed', 'inserted', 'reordered'] as const

const verification = z.object({
  object: z.literal('audit_log.verification'),
  /** Rows of this page. */
  checked: z.int(),
  last_id: z.string().nullable(),
  /** The hash of that row, for the next page, and for an operator who notes it elsewhere. */
  last_hash: z.string(),
  has_more: z.boolean(),
  /** Null: the rows are those that the gateway wrote. */
  problem: z.object({ kind: z.enum(auditProblems), id: z.string(), message: z.string() }).nullable(),
})
export type AuditVerification = z.input<typeof verification>

export const auditLogOperations = {
  'auditLogs.list': {
    method: 'GET',
    path: '/v1/organization/audit_logs',
    service: 'keys',
    access: 'reader',
    query: z.strictObject({
      ...cursor,
      ...before,
      effective_at: z.strictObject({ gt: seconds, gte: seconds, lt: seconds, lte: seconds }).optional(),
      project_ids: values,
      event_types: values,
      actor_ids: values,
      actor_emails: values,
      resource_ids: values,
      tenant_only: flag.optional(),
    }),
    body: nothing,
    output: listOf(auditLog),
    about: 'lists changes and refused sign-ins, newest first',
    deviation:
      'each row has its hash, request id, address, and the values before and after; types of our own exist, too',
  },
  'audit.verify': {
    method: 'GET',
    path: '/admin/v1/audit_logs/verify',
    service: 'keys',
    access: 'reader',
    query: z.strictObject({
      /** Of the page before: its `last_id` and `last_hash`. */
      after: z.string().optional(),
      hash: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be a hash as a page returned it')
        .optional(),
    }),
    body: nothing,
    output: verification,
    about: 'verifies the chain of the audit log, a page of rows at a time, and names a row that is wrong',
    deviation: 'ours',
  },
  // Behind `verify`, which is no row's id.
  'auditLogs.retrieve': {
    method: 'GET',
    path: '/admin/v1/audit_logs/{audit_log_id}',
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: auditLog,
    about: 'shows a row of the audit log',
  },
} as const satisfies Record<string, Operation>
