/**
 * A rate for each account: a bucket that holds a minute's requests, begins full and is refilled evenly. It limits the
 * requests that an edge serves without a backend, on each edge by itself. Pure: the clock is an argument.
 *
 * Beyond so many accounts, the buckets forget the account whose last request is oldest. It begins again with a full bucket.
 */

const MINUTE_MS = 60_000

export interface MinuteBuckets {
  readonly mostAccounts: number
  /** When the bucket is full again. Those taken from last stand at the end. */
  readonly fullAtMs: Map<string, number>
}

export function createMinuteBuckets(mostAccounts: number): MinuteBuckets {
  return { mostAccounts, fullAtMs: new Map() }
}

/** Takes one request and returns 0. Where there is none, takes nothing and returns the time until there is one. */
export function takeOne(
  { mostAccounts, fullAtMs }: MinuteBuckets,
  account: string,
  perMinute: number,
  nowMs: number,
): number {
  const refillMs = MINUTE_MS / perMinute
  const after = Math.max(nowMs, fullAtMs.get(account) ?? 0) + refillMs
  const waitMs = after - nowMs - MINUTE_MS
  // Sums of fractions miss a whole minute by less than this.
  if (waitMs > 1e-3) return waitMs
  fullAtMs.delete(account)
  fullAtMs.set(account, after)
  if (fullAtMs.size > mostAccounts) fullAtMs.delete(fullAtMs.keys().next().value!)
  return 0
}
