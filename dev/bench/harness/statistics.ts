/**
 * The summary of several launches: the median, and how far they lie apart.
 */

export interface Spread {
  median: number
  min: number
  max: number
  count: number
}

/** Returns undefined for an empty list. */
export function spreadOf(values: number[]): Spread | undefined {
  if (values.length === 0) return undefined
  const sorted = values.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2
  return { median, min: sorted[0]!, max: sorted.at(-1)!, count: sorted.length }
}
