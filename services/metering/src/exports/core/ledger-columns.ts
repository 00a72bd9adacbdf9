/**
 * The ledger's own columns. The sum of `charge` over all files is that of the ledger, in the unit of `unit`.
 */

import { type Column, type ColumnType, isoTime } from './columns.ts'
import type { LedgerRow } from './entries.ts'

const REPORTERS = ['router', 'edge']

const of = (name: keyof LedgerRow, type: ColumnType = 'text'): Column => {
  return { name, type, of: ({ row }) => row[name] ?? null }
}
/** A reversal has the opposite number. */
const amount = (name: keyof LedgerRow): Column => {
  return { name, type: 'integer', of: ({ row, sign }) => sign * Number(row[name] ?? 0) }
}

export const ledgerColumns: readonly Column[] = [
  of('request_id', 'uuid'),
  { name: 'entry', type: 'text', of: ({ kind }) => kind },
  { name: 'day', type: 'date', of: ({ day }) => day },
  { name: 'late', type: 'boolean', of: ({ isLate }) => isLate },
  of('account'),
  { name: 'is_project', type: 'boolean', of: ({ row }) => row.is_project ?? false },
  of('key_id'),
  of('user_id'),
  of('end_user'),
  of('session_id'),
  of('agent_id'),
  of('parent_agent_id'),
  of('tags', 'json'),
  of('plan'),
  of('unit'),
  of('window'),
  of('kind'),
  of('compaction'),
  of('model_asked'),
  of('lane'),
  of('pool'),
  of('backend'),
  of('backend_model'),
  amount('prompt_tokens'),
  amount('completion_tokens'),
  amount('cached_tokens'),
  amount('cache_write_tokens'),
  amount('cache_write_hour_tokens'),
  amount('reasoning_tokens'),
  amount('audio_prompt_tokens'),
  amount('cached_audio_tokens'),
  amount('audio_completion_tokens'),
  amount('images'),
  of('tool_calls', 'json'),
  of('estimated', 'boolean'),
  {
    name: 'vendor_cost_nano_usd',
    type: 'integer',
    of: ({ row: { vendor_cost_nano_usd: cost }, sign }) => (cost === null || cost === undefined ? null : sign * cost),
  },
  of('price', 'json'),
  amount('charge'),
  of('voided_by', 'uuid'),
  { name: 'reporter', type: 'text', of: ({ row }) => REPORTERS[row.rank - 1] ?? String(row.rank) },
  of('outcome'),
  of('delivered', 'boolean'),
  of('streamed', 'boolean'),
  of('attempts', 'json'),
  { name: 'started_at', type: 'time', of: ({ row }) => isoTime(row.started_at) },
  { name: 'ended_at', type: 'time', of: ({ row }) => isoTime(row.ended_at) },
]
