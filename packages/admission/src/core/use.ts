/**
 * An account's use, settled and pending: the totals of one window, the rates, and the records of requests.
 *
 * `running` and `ended` are the sums over the window's records, kept along with every change of a record.
 *
 * Settled and ended requests count as used of the monthly allowance, running ones with the most they can cost. A request is
 * admitted while used + running is below the limit. So the total passes the limit by less than the last request's worst case, at
 * any number of concurrent requests.
 */

import { monthOf } from './month.ts'
import { corrected, type SlidingLog, type TokenBucket } from './rates.ts'

export interface Use {
  readonly window: string
  /** The latest known window. */
  readonly latest: string
  /** Metering has reported the window's total, or it began with nothing. */
  readonly known: boolean
  readonly settled: number
  readonly version: number
  readonly running: number
  readonly ended: number
  readonly log: SlidingLog
  readonly bucket: TokenBucket | null
  readonly day: { readonly day: number; readonly count: number }
}

interface HeldInBucket {
  readonly window: string
  /** The request's tokens in the bucket; null where they are lost: then nothing corrects them. */
  readonly tokens: number | null
}

export interface RunningRecord extends HeldInBucket {
  readonly state: 'running'
  /** The most that it can cost. */
  readonly amount: number
  readonly lapsesAtMs: number
}

/** It has ended, and the ledger does not yet include it. */
export interface EndedRecord extends HeldInBucket {
  readonly state: 'ended'
  readonly amount: number
}

/**
 * It holds nothing of the allowance. Its lease has lapsed, it has cost nothing, or the ledger includes it by a report that
 * another may replace. Its tokens may still change.
 */
interface OverRecord extends HeldInBucket {
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

export function unused(nowMs: number): Use {
  const { window } = monthOf(nowMs)
  const nothing = { known: false, settled: 0, version: -1, running: 0, ended: 0 }
  return { window, latest: window, ...nothing, log: [], bucket: null, day: { day: 0, count: 0 } }
}

/**
 * A new window. It begins with nothing used where the last total was known, and no window as late as this one is known. Otherwise
 * its total is unknown. Running requests keep belonging to the window of their admission; those that have ended in another one
 * count no more.
 */
export function inWindow(use: Use, window: string, records: Iterable<RequestRecord>): Use {
  if (use.window === window) return use
  const known = use.known && window > use.latest
  const latest = laterOf(use.latest, window)
  const fresh = { ...use, window, latest, known, settled: 0, version: known ? 0 : -1, running: 0, ended: 0 }
  return [...records].reduce((sums, record) => withRecord(sums, record), fresh)
}

export function withRecord(use: Use, record: RequestRecord): Use {
  return changeSum(use, record, 1)
}

export function withoutRecord(use: Use, record: RequestRecord): Use {
  return changeSum(use, record, -1)
}

function changeSum(use: Use, record: RequestRecord, sign: 1 | -1): Use {
  if (record.state === 'over' || record.window !== use.window) return use
  return { ...use, [record.state]: use[record.state] + sign * record.amount }
}

/** The bucket holds this much of the request from now on. */
function withTokens(use: Use, record: RequestRecord, tokens: number, nowMs: number): Use {
  if (!use.bucket || record.tokens === null || record.tokens === tokens) return use
  return { ...use, bucket: corrected(use.bucket, record.tokens, tokens, nowMs) }
}

function over({ window }: RequestRecord, tokens: number | null, version: number, nowMs: number): OverRecord {
  return { state: 'over', window, tokens, version, forgottenAtMs: nowMs + OVER_KEPT_MS }
}

export interface Remains {
  use: Use
  /** Null: the store keeps nothing. */
  record: RequestRecord | null
}

/**
 * The end of a request. Where its lease had lapsed, the ledger reports its charge. Where the ledger has reported it, nothing happens.
 */
export function ended(
  use: Use,
  record: RequestRecord,
  end: { charge: number; tokens: number },
  nowMs: number,
): Remains {
  if (record.state === 'ended' || (record.state === 'over' && record.version !== NOT_REPORTED)) return { use, record }
  const corrected = withTokens(use, record, end.tokens, nowMs)
  const tokens = record.tokens === null ? null : end.tokens
  if (record.state === 'over') return { use: corrected, record: { ...record, tokens } }
  const released = withoutRecord(corrected, record)
  if (record.window !== use.window || end.charge <= 0) {
    return { use: released, record: over(record, tokens, NOT_REPORTED, nowMs) }
  }
  const remains: EndedRecord = { state: 'ended', window: record.window, amount: end.charge, tokens }
  return { use: withRecord(released, remains), record: remains }
}

/**
 * Nobody has renewed it, and a backend may still work for it. The bucket keeps the reservation until the ledger reports the tokens.
 */
export function lapsed(use: Use, record: RunningRecord, nowMs: number): Remains {
  const forgottenAtMs = record.lapsesAtMs + LAPSED_KEPT_MS
  const { window, tokens } = record
  const isKept = tokens !== null && forgottenAtMs > nowMs
  const remains: OverRecord = { state: 'over', window, tokens, version: NOT_REPORTED, forgottenAtMs }
  return { use: withoutRecord(use, record), record: isKept ? remains : null }
}

/** The ledger includes it, and says how many tokens it has of it. */
export function included(
  use: Use,
  record: RequestRecord,
  reported: { tokens?: number | undefined; mayChange?: boolean | undefined; version: number },
  nowMs: number,
): Remains {
  const released = withoutRecord(use, record)
  const { tokens, mayChange = false, version } = reported
  // An older report that comes after a newer one knows less.
  if (mayChange && record.state === 'over' && record.version > version) return { use: released, record }
  const corrected = tokens === undefined ? released : withTokens(released, record, tokens, nowMs)
  const isKept = mayChange && record.tokens !== null
  return { use: corrected, record: isKept ? over(record, tokens ?? record.tokens, version, nowMs) : null }
}

/** The window's total from the ledger. Older versions change no total. */
export function withTotal(
  use: Use,
  total: { window: string; settled: number; version: number },
  wasRequested: boolean,
): Use {
  // A window that has a total before it begins does not begin with nothing.
  const latest = laterOf(use.latest, total.window)
  if (total.window !== use.window) return { ...use, latest }
  const { settled, version } = total.version > use.version ? total : use
  return { ...use, latest, settled, version, known: use.known || wasRequested }
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other
}

/** When a running request ends is not known. They usually take seconds. */
export const PENDING_RETRY_MS = 1000

export interface Sums {
  used: number
  running: number
  limit: number
  overage: boolean
}

type AllowanceVerdict = 'fits' | 'allowance' | 'pending'

/** Returns true when the running requests, once more, would reach the limit. */
export function isAllowanceTight({ used, running, limit, overage }: Sums): boolean {
  return !overage && used + 2 * running >= limit
}

export function judgeAllowance(sums: Sums): AllowanceVerdict {
  if (sums.overage) return 'fits'
  if (sums.used >= sums.limit) return 'allowance'
  return sums.used + sums.running >= sums.limit ? 'pending' : 'fits'
}
