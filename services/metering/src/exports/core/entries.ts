/**
 * The rows of export files. Each row of the ledger stands once as `original`. Where a later report changes it, a `reversal` takes
 * the former numbers out and a `correction` puts the new ones in. So the sums over all files are those of the ledger.
 */

import { utcDay } from './plan-part.ts'

/** A row of the ledger as PostgreSQL writes it as JSON. Rows of former releases lack later columns. */
export interface LedgerRow {
  request_id: string
  rank: number
  account: string
  is_project?: boolean
  key_id: string
  user_id?: string | null
  end_user?: string | null
  session_id?: string | null
  agent_id?: string | null
  parent_agent_id?: string | null
  tags?: Record<string, string> | null
  plan: string
  unit: string
  window: string
  kind?: string | null
  compaction?: string | null
  model_asked: string
  lane: string
  pool: string
  backend: string
  backend_model: string
  prompt_tokens: number
  completion_tokens: number
  cached_tokens: number
  cache_write_tokens?: number
  cache_write_hour_tokens?: number
  reasoning_tokens: number
  audio_prompt_tokens?: number
  cached_audio_tokens?: number
  audio_completion_tokens?: number
  images?: number
  tool_calls?: Record<string, number>
  estimated: boolean
  vendor_cost_nano_usd?: number | null
  price: unknown
  charge: number
  voided_by?: string | null
  outcome: string
  delivered: boolean
  streamed: boolean
  attempts: unknown
  started_at: string
  ended_at: string
}

export interface Entry {
  kind: 'original' | 'reversal' | 'correction'
  /** A reversal counts -1. */
  sign: 1 | -1
  row: LedgerRow
  /** In UTC, within the charged month: the day of usage and costs. */
  day: string
  /** The files of its day were complete before. */
  isLate: boolean
  /** The day of the file. */
  fileDay: string
  /** The number of the change; null of an original. */
  change: number | null
}

export interface FileOfDay {
  day: string
  closedThrough: string | null
}

export function originalEntry(row: LedgerRow, file: FileOfDay): Entry {
  return entryOf('original', row, file, null)
}

/** The pair of a change. */
export function correctingEntries(
  { id, former, latter }: { id: number; former: LedgerRow; latter: LedgerRow },
  file: FileOfDay,
): [Entry, Entry] {
  return [entryOf('reversal', former, file, id), entryOf('correction', latter, file, id)]
}

function entryOf(kind: Entry['kind'], row: LedgerRow, file: FileOfDay, change: number | null): Entry {
  const day = dayOf(row)
  const isLate = file.closedThrough !== null && day <= file.closedThrough
  return { kind, sign: kind === 'reversal' ? -1 : 1, row, day, isLate, fileDay: file.day, change }
}

/** The same as `metering.day_of`. */
export function dayOf({ started_at, window }: Pick<LedgerRow, 'started_at' | 'window'>): string {
  const day = utcDay(Date.parse(started_at))
  const [year, month] = [Number(window.slice(0, 4)), Number(window.slice(5, 7))]
  const last = utcDay(Date.UTC(year, month, 0))
  const first = `${window}-01`
  return day < first ? first : day > last ? last : day
}
