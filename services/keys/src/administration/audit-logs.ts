/**
 * The audit log for administrators: pages by OpenAI's filters, and the verification of the chain.
 */

import type { Input } from '@gateway/contracts/administration/operations'
import { GatewayError } from '@gateway/contracts/errors'
import { verifyChain } from '../core/audit-chain.ts'
import { auditId, seqOfAuditId, toAuditLog } from '../core/stored-entry.ts'
import { findAuditRow, readAuditLog, readChain, type AuditFilter } from '../db/audit-log.ts'
import type { AdministrationHandlers } from './call.ts'

const SECOND_MS = 1_000
const ROWS_OF_A_PAGE = 5_000

export const auditLogHandlers = {
  'auditLogs.list': async ({ transaction }, input) => {
    const older = seqOf('after', input.after)
    const newer = seqOf('before', input.before)
    const { rows, hasMore } = await readAuditLog(transaction, filterOf(input), { older, newer, limit: input.limit })
    const data = rows.map(toAuditLog)
    return {
      object: 'list' as const,
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: hasMore,
    }
  },

  'auditLogs.retrieve': async ({ transaction }, { audit_log_id: id }) => {
    const seq = seqOfAuditId(id)
    const row = seq === null ? undefined : await findAuditRow(transaction, seq)
    if (!row) throw new GatewayError('NOT_FOUND', `The audit log has no row ${id}`)
    return toAuditLog(row)
  },

  'audit.verify': async ({ context }, { after, hash }) => {
    const seq = seqOf('after', after)
    const from = seq === null ? null : { seq, hash: hash === undefined ? null : Buffer.from(hash, 'hex') }
    const page = await readChain(context.database, from, ROWS_OF_A_PAGE)
    if (!page) throw new GatewayError('VALIDATION_ERROR', 'after: the log has no such row', { param: 'after' })
    const problem = verifyChain(page.start, page.rows, page.head)
    const last = page.rows.at(-1) ?? page.start
    return {
      object: 'audit_log.verification' as const,
      checked: page.rows.length,
      last_id: last.seq === 0 ? null : auditId(last.seq),
      last_hash: Buffer.from(last.hash).toString('hex'),
      has_more: page.head === null && problem === null,
      problem: problem && { kind: problem.kind, id: auditId(problem.seq), message: problem.message },
    }
  },
} satisfies Partial<AdministrationHandlers>

function seqOf(param: string, id: string | undefined): number | null {
  if (id === undefined) return null
  const seq = seqOfAuditId(id)
  if (seq === null) throw new GatewayError('VALIDATION_ERROR', `${param}: is not the id of a row`, { param })
  return seq
}

function filterOf(input: Input<'auditLogs.list'>): AuditFilter {
  const { gt, gte, lt, lte } = input.effective_at ?? {}
  const from = Math.max(gt === undefined ? -Infinity : gt + 1, gte ?? -Infinity)
  const until = Math.min(lt ?? Infinity, lte === undefined ? Infinity : lte + 1)
  return {
    fromMs: Number.isFinite(from) ? from * SECOND_MS : null,
    beforeMs: Number.isFinite(until) ? until * SECOND_MS : null,
    // The log has no events of tenants.
    types: input.tenant_only ? [] : (input.event_types ?? null),
    projects: input.project_ids ?? null,
    actors: input.actor_ids ?? null,
    emails: input.actor_emails ?? null,
    resources: input.resource_ids ?? null,
  }
}
