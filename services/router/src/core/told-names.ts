/**
 * Names of parameters as a header can hold them. A client may have invented them, in any letters and of any length.
 */

const LONGEST_NAME = 64
const LONGEST_LIST = 1_000

/** Escaped as in an address, where letters need that. The last entry counts the names that the list has no room for. */
export function toldNames(names: readonly string[]): string[] {
  const told: string[] = []
  let left = LONGEST_LIST
  for (const name of names) {
    const escaped = encodeURIComponent(name.slice(0, LONGEST_NAME).toWellFormed())
    left -= escaped.length
    if (left < 0) return [...told, `and ${names.length - told.length} more`]
    told.push(escaped)
  }
  return told
}
