/**
 * Numbers as people write them in options and settings: decimal digits, at most one point, nothing else. `Number`
 * alone also takes `0x10`, `1e3`, spaces and the empty text, where a person who wrote that hardly meant it.
 */

/** Null where `text` is no plain whole number of 0 or more, or too large to be exact. */
export function readInteger(text: string): number | null {
  if (!/^[0-9]+$/.test(text)) return null
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : null
}

/** Null where `text` is no plain decimal number of 0 or more, or too large to be finite. */
export function readDecimalNumber(text: string): number | null {
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text)) return null
  const value = Number(text)
  return Number.isFinite(value) ? value : null
}
