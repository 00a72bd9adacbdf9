/**
 * PostgreSQL's 64-bit integers as JavaScript numbers: exact, or an error. Never silently rounded.
 */

export function readBigint(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`the bigint ${text} does not fit a JavaScript number exactly`)
  return value
}
