/**
 * The rates of an account: requests per minute and tokens per minute.
 *
 * Requests are counted exactly, by a log of the admitted ones of the last 60 seconds, oldest first. A request leaves the log
 * when it is 60 seconds old, so that no 60 seconds ever hold more than the limit.
 *
 * Tokens are taken from a bucket that holds a minute's tokens, begins full and is refilled evenly. A request takes its
 * usual size; its end corrects that by its real size, which may leave a debt. A request larger than the bucket passes when
 * the bucket is full. Levels are whole numbers, tokens x 60,000, so that one millisecond refills exactly `perMinute`.
 */

export const MINUTE_MS = 60_000

export type SlidingLog = readonly number[]

/** The log without those that have left. */
export function lastMinute(log: SlidingLog, nowMs: number): SlidingLog {
  const oldest = log.findIndex((atMs) => atMs > nowMs - MINUTE_MS)
  if (oldest === 0) return log
  return oldest === -1 ? [] : log.slice(oldest)
}

/** Returns the wait until one more request fits; 0 when it does now. `log` holds the last minute. */
export function waitForRequest(log: SlidingLog, limit: number, nowMs: number): number {
  const blocking = log[log.length - limit]
  return blocking === undefined ? 0 : blocking + MINUTE_MS - nowMs
}

/** Returns the wait until the log is empty. */
export function waitForEmpty(log: SlidingLog, nowMs: number): number {
  const newest = log.at(-1)
  return newest === undefined ? 0 : newest + MINUTE_MS - nowMs
}

const SCALE = 60_000

export interface TokenBucket {
  readonly level: number
  readonly atMs: number
  /** The limit that it was last used with. */
  readonly perMinute: number
}

/** The bucket as of now; null has never been used. */
export function refilled(bucket: TokenBucket | null, perMinute: number, nowMs: number): TokenBucket {
  const full = perMinute * SCALE
  if (!bucket) return { level: full, atMs: nowMs, perMinute }
  const level = Math.min(full, bucket.level + Math.max(0, nowMs - bucket.atMs) * perMinute)
  return { level, atMs: nowMs, perMinute }
}

/** Returns the wait until a request of this size may take its tokens; 0 when it may now. */
export function waitForTokens(bucket: TokenBucket, tokens: number): number {
  const needed = Math.min(tokens, bucket.perMinute) * SCALE
  return Math.max(0, Math.ceil((needed - bucket.level) / bucket.perMinute))
}

export function taken(bucket: TokenBucket, tokens: number): TokenBucket {
  return { ...bucket, level: bucket.level - tokens * SCALE }
}

/** After a request that had taken `reserved` turned out to use `actual`. */
export function corrected(bucket: TokenBucket, reserved: number, actual: number, nowMs: number): TokenBucket {
  const now = refilled(bucket, bucket.perMinute, nowMs)
  return { ...now, level: Math.min(bucket.perMinute * SCALE, now.level + (reserved - actual) * SCALE) }
}

export function isLessThanHalfFull({ level, perMinute }: TokenBucket): boolean {
  return 2 * level < perMinute * SCALE
}

export function tokensLeft(bucket: TokenBucket): number {
  return Math.max(0, Math.floor(bucket.level / SCALE))
}

export function waitForFull(bucket: TokenBucket): number {
  return Math.ceil((bucket.perMinute * SCALE - bucket.level) / bucket.perMinute)
}
