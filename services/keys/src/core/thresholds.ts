/**
 * The shares of an allowance that operators are told of, and which of them a total has reached.
 */

const PERCENTS = [80, 100] as const

/** Whole numbers below 2^53. A plan without an allowance has no thresholds. */
export function thresholdsReached(used: number, limit: number): number[] {
  if (limit <= 0) return []
  return PERCENTS.filter((percent) => BigInt(used) * 100n >= BigInt(limit) * BigInt(percent))
}
