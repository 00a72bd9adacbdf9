/**
 * A meter counts for one thing that has limits: an account, one of its keys, or one model for all keys of the account.
 *
 * It has rates, and the sums of the present month. `running` and `ended` are sums over the records of requests; they change along
 * with each record. A key's sums count while its settled total is known, and are counted again when it becomes known. A model
 * has no sums.
 */

import type { DenyReason } from '../port.ts'
import { DAY_MS, dayOf } from './month.ts'
import {
  corrected,
  isLessThanHalfFull,
  lastMinute,
  refilled,
  type SlidingLog,
  taken,
  type TokenBucket,
  waitForFull,
  waitForRequest,
  waitForTokens,
} from './rates.ts'

interface Sums {
  readonly settled: number
  readonly running: number
  readonly ended: number
}

export interface Meter extends Sums {
  readonly log: SlidingLog
  readonly bucket: TokenBucket | null
  readonly day: { readonly day: number; readonly count: number }
  /** The settled total is known. */
  readonly known: boolean
  /** Of the total. */
  readonly version: number
}

/** Null: no such limit. */
export interface MeterLimits {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly requestsPerDay: number | null
  readonly monthly: number | null
}

const NO_TOTAL = { known: false, settled: 0, version: -1, running: 0, ended: 0 } as const
export const UNUSED: Meter = { log: [], bucket: null, day: { day: 0, count: 0 }, ...NO_TOTAL }

/** The names of meters beside the account's own. */
export const KEY_METER = 'key:'
export const keyMeter = (keyId: string): string => `${KEY_METER}${keyId}`
export const modelMeter = (model: string): string => `model:${model}`

/** The meter as of now: nothing is left in it that has gone. */
export function meterNow<Counted extends Meter>(meter: Counted, limits: MeterLimits, nowMs: number): Counted {
  const today = dayOf(nowMs)
  const { tokensPerMinute } = limits
  return {
    ...meter,
    log: lastMinute(meter.log, nowMs),
    bucket: tokensPerMinute === null ? meter.bucket : refilled(meter.bucket, tokensPerMinute, nowMs),
    day: meter.day.day === today ? meter.day : { day: today, count: 0 },
  }
}

/** In a new month. `isKnown`: the account's total is known. */
export function inNewMonth(meter: Meter, isKnown: boolean): Meter {
  const known = isKnown && meter.known
  return { ...meter, ...NO_TOTAL, known, version: known ? 0 : -1 }
}

/** Nothing of it matters any more: it was not used yesterday or today, and owes no tokens. */
export function isIdle({ day, bucket }: Meter, nowMs: number): boolean {
  if (day.day >= dayOf(nowMs) - 1) return false
  return bucket === null || waitForFull(refilled(bucket, bucket.perMinute, nowMs)) === 0
}

export type Limit = Exclude<DenyReason, 'key' | 'plan'>

/** When a running request ends is not known. They usually take seconds. */
const PENDING_RETRY_MS = 1000

/** The waits until each limit lets the request pass; 0 where it does now. `meter` is as of now. */
export function waitsMs(
  meter: Meter,
  limits: MeterLimits,
  usualTokens: number,
  now: { nowMs: number; monthEndsAtMs: number },
): [Limit, number][] {
  const { requestsPerMinute, requestsPerDay, monthly } = limits
  const { log, bucket, day } = meter
  const dayIsFull = requestsPerDay !== null && day.count >= requestsPerDay
  const verdict = judgeMonth(meter, monthly)
  return [
    ['requests', requestsPerMinute === null ? 0 : waitForRequest(log, requestsPerMinute, now.nowMs)],
    ['tokens', limits.tokensPerMinute === null || !bucket ? 0 : waitForTokens(bucket, usualTokens)],
    ['day', dayIsFull ? (day.day + 1) * DAY_MS - now.nowMs : 0],
    ['allowance', verdict === 'allowance' ? now.monthEndsAtMs - now.nowMs : 0],
    ['pending', verdict === 'pending' ? PENDING_RETRY_MS : 0],
  ]
}

/**
 * Settled and ended requests count as used, running ones with the most they can cost. A request is admitted while used + running
 * is below the limit. So the total passes the limit by less than the last request's worst case, at any number of concurrent requests.
 */
export function judgeMonth(meter: Sums, monthly: number | null): 'fits' | 'allowance' | 'pending' {
  if (monthly === null) return 'fits'
  if (usedOf(meter) >= monthly) return 'allowance'
  return usedOf(meter) + meter.running >= monthly ? 'pending' : 'fits'
}

export function usedOf({ settled, ended }: Sums): number {
  return settled + ended
}

/** A reservation that stays a moment too long may refuse the next request. */
export function isTight(meter: Meter, { tokensPerMinute, monthly }: MeterLimits): boolean {
  if (tokensPerMinute !== null && meter.bucket && isLessThanHalfFull(meter.bucket)) return true
  return monthly !== null && usedOf(meter) + 2 * meter.running >= monthly
}

/** Takes a place among the minute's requests. `meter` is as of now. */
export function placeTaken<Counted extends Meter>(meter: Counted, limits: MeterLimits, nowMs: number): Counted {
  return limits.requestsPerMinute === null ? meter : { ...meter, log: [...meter.log, nowMs] }
}

/** Takes a place, one of the day, and the tokens. `meter` is as of now. */
export function requestTaken<Counted extends Meter>(
  meter: Counted,
  limits: MeterLimits,
  tokens: number,
  nowMs: number,
): Counted {
  return {
    ...placeTaken(meter, limits, nowMs),
    bucket: limits.tokensPerMinute === null || !meter.bucket ? meter.bucket : taken(meter.bucket, tokens),
    day: { ...meter.day, count: meter.day.count + 1 },
  }
}

/** After a request for which the bucket held `held` tokens turned out to use `actual`. */
export function tokensCorrected<Counted extends Meter>(
  meter: Counted,
  held: number,
  actual: number,
  nowMs: number,
): Counted {
  if (!meter.bucket || held === actual) return meter
  return { ...meter, bucket: corrected(meter.bucket, held, actual, nowMs) }
}
