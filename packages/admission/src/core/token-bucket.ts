/**
 * Tokens per minute: a bucket that holds a minute's tokens, begins full and is refilled evenly. A request takes its
 * usual size; its end corrects that by its real size, which may leave a debt. What is larger than the bucket passes when
 * the bucket is full.
 *
 * Levels are whole numbers, tokens x 60,000, so that one millisecond refills exactly `perMinute`.
 */

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

/** How long until a request of this size may take its tokens; 0 when it may now. */
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
