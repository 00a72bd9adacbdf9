/**
 * The records of requests that run, or have ended and are not yet included by the ledger.
 */

interface HeldRequest {
  readonly window: string
  /** The request's tokens in the buckets; null where they are lost: then nothing corrects them. */
  readonly tokens: number | null
  /** Of a project's key. */
  readonly keyId: string | null
  /** The meters whose buckets hold its tokens, beside the account's. */
  readonly inBuckets: readonly string[]
}

export interface RunningRecord extends HeldRequest {
  readonly state: 'running'
  /** The most that it can cost. */
  readonly amount: number
  readonly lapsesAtMs: number
}

/** It has ended, and the ledger does not yet include it. */
export interface EndedRecord extends HeldRequest {
  readonly state: 'ended'
  readonly amount: number
}

/**
 * It holds nothing of the allowance. Its lease has lapsed, it has cost nothing, or the ledger includes it by a report that
 * another may replace. Its tokens may still change.
 */
export interface OverRecord extends HeldRequest {
  readonly state: 'over'
  /** The version of the total that brought its tokens; {@link NOT_REPORTED} where the ledger has not reported it. */
  readonly version: number
  readonly forgottenAtMs: number
}

export type RequestRecord = RunningRecord | EndedRecord | OverRecord

export const NOT_REPORTED = -1
/** The ledger learns of a request within seconds, and the two reports of it come within moments of each other. */
const OVER_KEPT_MS = 10 * 60_000
/** The report of a lapsed one may wait for a metering service that is away. */
const LAPSED_KEPT_MS = 60 * 60_000

export function over(record: RequestRecord, tokens: number | null, version: number, nowMs: number): OverRecord {
  return overUntil(record, tokens, version, nowMs + OVER_KEPT_MS)
}

/** Null: it has been over for too long. */
export function overByLapse(record: RunningRecord, nowMs: number): OverRecord | null {
  const forgottenAtMs = record.lapsesAtMs + LAPSED_KEPT_MS
  if (record.tokens === null || forgottenAtMs <= nowMs) return null
  return overUntil(record, record.tokens, NOT_REPORTED, forgottenAtMs)
}

function overUntil(
  { window, keyId, inBuckets }: RequestRecord,
  tokens: number | null,
  version: number,
  forgottenAtMs: number,
): OverRecord {
  return { state: 'over', window, keyId, inBuckets, tokens, version, forgottenAtMs }
}
