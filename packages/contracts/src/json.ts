/**
 * JSON as the gateway reads it.
 */

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** None where the value is no object. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** The objects of a list; none where the value is no list. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

const LONG_INTEGER = /[^.\d]\d{16}/
/** Of 128 bits at most. A bigint of a megabyte would take this process a second to read and to write. */
const INTEGER = /^-?\d{16,39}$/

/**
 * Reads JSON that is written anew later. Beyond 2^53 a number has no place for all digits of an integer, and many write
 * such ones: ids of 64 bits among a tool's arguments, the bounds of an int64 in a schema. They are read as bigints, and
 * `JSON.stringify` writes their digits as they came. Everything else is as `JSON.parse` reads it.
 *
 * `mayHoldLong`: for a caller that has looked already.
 */
export function parseExactly(text: string, mayHoldLong = LONG_INTEGER.test(text)): unknown {
  return mayHoldLong ? JSON.parse(text, exactInteger) : JSON.parse(text)
}

/** For `JSON.parse`. */
export function exactInteger(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const source = context?.source ?? ''
  return INTEGER.test(source) ? BigInt(source) : value
}

// Of Node's JSON, which its types do not know yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
// oxlint-disable-next-line no-extend-native -- JSON.stringify calls this method of a bigint, and ECMAScript defines none
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  value(this: bigint) {
    return rawJSON(this.toString())
  },
})
