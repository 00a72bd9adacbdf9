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

/**
 * Whether a JSON text is of a shape that readers can be asked to take, told before anyone parses it, and whether its integers
 * need care.
 *
 * A parser's time depends on shape more than on size: 25 MB of text take it 0.1 s, 25 MB of empty lists 6 s, in which an
 * edge serves nobody. And readers elsewhere give up at a depth (Python's at 1,000) with a failure of their own, by which
 * one client's request would make every backend look broken.
 */
export interface JsonShape {
  /** A sentence for the client; null for a text that may be parsed, which may still be no JSON. */
  problem: string | null
  /** Some number may be an integer beyond 2^53. Of a text with a problem this is not known. */
  mayHoldLongIntegers: boolean
}

export const MOST_LEVELS = 200
/** Members and elements. The largest that people send (long conversations, tools, biases by token) stay far below. */
export const MOST_VALUES = 250_000
/** {@link parseExactly} cares for no shorter ones. */
const SHORTEST_LONG_INTEGER = 16

const [QUOTE, BACKSLASH, COMMA, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x30, 0x39]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** `bytes` are UTF-8. */
export function readShape(bytes: Uint8Array): JsonShape {
  let levels = 0
  let values = 0
  let digits = 0
  let mayHoldLongIntegers = false
  const refused = (problem: string): JsonShape => ({ problem, mayHoldLongIntegers })
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte >= ZERO && byte <= NINE) {
      if (++digits === SHORTEST_LONG_INTEGER) mayHoldLongIntegers = true
      continue
    }
    digits = 0
    switch (byte) {
      case QUOTE:
        at = endOfString(bytes, at + 1)
        break
      case OPENING_BRACKET:
      case OPENING_BRACE:
        if (++levels > MOST_LEVELS) return refused(`is nested deeper than ${MOST_LEVELS} levels`)
        values++
        break
      case COMMA:
        values++
        break
      case CLOSING_BRACKET:
      case CLOSING_BRACE:
        levels--
        break
    }
    if (values > MOST_VALUES) return refused(`has more than ${MOST_VALUES} values`)
  }
  return { problem: null, mayHoldLongIntegers }
}

/** Where the closing quote stands, or the end. */
function endOfString(bytes: Uint8Array, start: number): number {
  const quote = bytes.indexOf(QUOTE, start)
  if (quote < 0) return bytes.length
  if (bytes[quote - 1] !== BACKSLASH) return quote
  // Searching from escape to escape would cost a call for each.
  let at = start
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}
