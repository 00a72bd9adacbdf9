/**
 * What an account has used and what is pending: the totals of one window, the rates, and the records of requests.
 *
 * `running` and `ended` are the sums over the window's records, kept along with every change of a record.
 */

import { monthOf } from './month.ts'
import type { SlidingLog } from './sliding-log.ts'
import { corrected, type TokenBucket } from './token-bucket.ts'

export interface Use {
  readonly window: string
  /** The latest window that was ever heard of. */
  readonly latest: string
  /** Metering has told the window's total, or it began with nothing. */
  readonly known: boolean
  readonly settled: number
  readonly version: number
  readonly running: number
  readonly ended: number
  readonly log: SlidingLog
  readonly bucket: TokenBucket | null
  readonly day: { readonly day: number; readonly count: number }
}

/** A request that runs, or one that has ended and that the ledger does not yet include. */
export type RequestRecord =
  | {
      readonly state: 'running'
      readonly window: string
      /** The most that it can cost. */
      readonly amount: number
      /** Tokens taken from the bucket; null where the bucket holds no reservation of ours. */
      readonly reserved: number | null
      readonly lapsesAtMs: number
    }
  | { readonly state: 'ended'; readonly window: string; readonly amount: number }

export type RunningRecord = Extract<RequestRecord, { state: 'running' }>

export function unused(nowMs: number): Use {
  const { window } = monthOf(nowMs)
  const nothing = { known: false, settled: 0, version: -1, running: 0, ended: 0 }
  return { window, latest: window, ...nothing, log: [], bucket: null, day: { day: 0, count: 0 } }
}

/**
 * A new window. It begins with nothing used where the last total was known, and where nobody has heard of a window as late
 * as this one; otherwise its total is unknown. Requests that run keep belonging to the window of their admission; those
 * that have ended in another one stand in nobody's way.
 */
export function inWindow(use: Use, window: string, records: Iterable<RequestRecord>): Use {
  if (use.window === window) return use
  const known = use.known && window > use.latest
  const latest = laterOf(use.latest, window)
  const fresh = { ...use, window, latest, known, settled: 0, version: known ? 0 : -1, running: 0, ended: 0 }
  return [...records].reduce((sums, record) => withRecord(sums, record), fresh)
}

export function withRecord(use: Use, record: RequestRecord): Use {
  return changeSum(use, record, record.amount)
}

export function withoutRecord(use: Use, record: RequestRecord): Use {
  return changeSum(use, record, -record.amount)
}

function changeSum(use: Use, record: RequestRecord, by: number): Use {
  if (record.window !== use.window) return use
  return { ...use, [record.state]: use[record.state] + by }
}

/** The end of a running request: what remains of it (null: nothing is pending any more), and the use after it. */
export function ended(
  use: Use,
  record: RunningRecord,
  end: { charge: number; tokens: number },
  nowMs: number,
): { use: Use; record: RequestRecord | null } {
  const freed = withoutRecord(use, record)
  const bucket =
    use.bucket && record.reserved !== null ? corrected(use.bucket, record.reserved, end.tokens, nowMs) : use.bucket
  const released = { ...freed, bucket }
  if (record.window !== use.window || end.charge <= 0) return { use: released, record: null }
  const remains: RequestRecord = { state: 'ended', window: record.window, amount: end.charge }
  return { use: withRecord(released, remains), record: remains }
}

/** The window's total from the ledger. Older versions change no total. */
export function withTotal(
  use: Use,
  total: { window: string; settled: number; version: number },
  askedFor: boolean,
): Use {
  // A window that has a total before it begins does not begin with nothing.
  const latest = laterOf(use.latest, total.window)
  if (total.window !== use.window) return { ...use, latest }
  const { settled, version } = total.version > use.version ? total : use
  return { ...use, latest, settled, version, known: use.known || askedFor }
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other
}
