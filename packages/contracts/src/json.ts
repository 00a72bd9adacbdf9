/**
 * JSON as the gateway reads it.
 */

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
}

/** Returns an empty object when the value is not an object. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/**
 * A value as a word, for a name or a sentence: a text itself, else its JSON. `String` would call the methods of that name
 * that an object from elsewhere may have.
 */
export function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}

/** The objects of a list; none where the value is no list. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

// Of Node's JSON, which its types do not know yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/**
 * A number in the text in which it came, where `JSON.stringify` would write another one. It has more digits than a
 * double holds, or it is written as `1.0` or `1e400`. Code that calculates gets its value from {@link plainNumber}.
 */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return rawJSON(this.text)
  }

  valueOf(): number {
    return Number(this.text)
  }
}

/** Returns a number for an {@link ExactNumber}, and any other value as it is. */
export function plainNumber(value: unknown): unknown {
  return value instanceof ExactNumber ? value.valueOf() : value
}

/**
 * Reads JSON that is written again later: `JSON.stringify` writes every number in the text in which it came. A tool's
 * arguments hold ids of 64 bits, a schema the bounds of an int64, and some readers distinguish `1.0` from `1`.
 *
 * V8 takes some names with an escape for another name, which it has read in an earlier text (nodejs/node#63785, 2026-06-08). That
 * text may be another client's. So V8 reads no such name here.
 *
 * `shape`: the text's, where it is known.
 */
export function parseExactly(text: string, shape: Pick<JsonShape, 'isReadExactly'> | null = null): unknown {
  return (shape?.isReadExactly ?? isReadExactly(text)) ? JSON.parse(text) : parseWithCare(text)
}

/**
 * Returns false when some number may need an {@link ExactNumber}, or when a name has an escape. A parser that looks at each value
 * takes several times as long.
 */
export function isReadExactly(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const start = at + 1
      at = endOfText(text, start)
      if (isEscapedName(text, start, at)) return false
    } else if (code === MINUS || isDigit(code)) {
      const start = at
      at = endOfNumber(text, start)
      if (!isWrittenAsRead(text, start, at + 1)) return false
    }
  }
  return true
}

/** Gives each name with an escape a name without one until the text is parsed. */
function parseWithCare(text: string): unknown {
  const names = new Map<string, string>()
  const parsed: unknown = JSON.parse(
    withoutEscapedNames(text, names),
    (_name, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' ? exactNumber(value, context?.source) : value,
  )
  return names.size === 0 ? parsed : withOwnNames(parsed, names)
}

function exactNumber(value: number, source: string | undefined): unknown {
  return source === undefined || JSON.stringify(value) === source ? value : new ExactNumber(source)
}

/** `names`: receives the own names by those that stand for them, which nobody can guess. */
function withoutEscapedNames(text: string, names: Map<string, string>): string {
  const unguessed = crypto.randomUUID()
  let written = ''
  let behind = 0
  for (let quote = text.indexOf('"'); quote >= 0; quote = text.indexOf('"', quote)) {
    const end = endOfText(text, quote + 1)
    if (isEscapedName(text, quote + 1, end)) {
      const name = `${unguessed} ${names.size}`
      names.set(name, JSON.parse(text.slice(quote, end + 1)) as string)
      written += `${text.slice(behind, quote)}"${name}"`
      behind = end + 1
    }
    quote = end + 1
  }
  return written + text.slice(behind)
}

function withOwnNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withOwnNames(item, names))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [names.get(name) ?? name, withOwnNames(member, names)]),
  )
}

function isEscapedName(text: string, start: number, end: number): boolean {
  return isName(text, end) && holdsEscape(text, start, end)
}

/** `end`: the place of a text's closing quote. */
function isName(text: string, end: number): boolean {
  let at = end + 1
  while (isSpace(text.charCodeAt(at))) at++
  return text.charCodeAt(at) === COLON
}

function holdsEscape(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text.charCodeAt(at) === BACKSLASH) return true
  return false
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d)
}

/** Where the closing quote stands, or the end. */
function endOfText(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let first = quote
    while (first > start && text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((quote - first) % 2 === 0) return quote
  }
  return text.length
}

/** Its last character. */
function endOfNumber(text: string, start: number): number {
  let at = start
  while (isOfNumber(text.charCodeAt(at + 1))) at++
  return at
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

function isOfNumber(code: number): boolean {
  return isDigit(code) || code === POINT || code === SMALL_E || code === LARGE_E || code === MINUS || code === PLUS
}

/** A double keeps so many digits of every number. */
const DIGITS_OF_DOUBLE = 15
/** Smaller ones are written with an exponent. */
const BELOW_A_MILLIONTH = '0.000000'

/** Returns true only for numbers that `JSON.stringify` writes in the same text. */
function isWrittenAsRead(text: string, start: number, end: number): boolean {
  let digits = 0
  let hasPoint = false
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === SMALL_E || code === LARGE_E) return false
    if (code === POINT) hasPoint = true
    else digits++
  }
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start
  if (digits > DIGITS_OF_DOUBLE) return false
  if (!hasPoint) return first === start || text.charCodeAt(first) !== ZERO
  return text.charCodeAt(end - 1) !== ZERO && !text.startsWith(BELOW_A_MILLIONTH, first)
}

/**
 * A JSON text's shape, which is checked before a reader parses the text.
 *
 * A parser's time depends on shape more than on size: 25 MB of text take it 0.1 s, 25 MB of empty lists 6 s. An edge
 * serves nobody meanwhile. And readers elsewhere give up at a depth (Python's at 1,000) with a failure of their own.
 * By it, one client's request would make every backend look broken.
 */
export interface JsonShape {
  /** A sentence for the client; null for a text that may be parsed, which may still be no JSON. */
  problem: string | null
  /** As {@link isReadExactly} says it of a text without a problem. */
  isReadExactly: boolean
}

export const MOST_LEVELS = 200
/** Members and elements. The largest that people send (long conversations, tools, biases by token) stay far below. */
export const MOST_VALUES = 250_000

const [QUOTE, BACKSLASH, COMMA, COLON, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x3a, 0x30, 0x39]
const [PLUS, MINUS, POINT, LARGE_E, SMALL_E] = [0x2b, 0x2d, 0x2e, 0x45, 0x65]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Reads the text once: a prompt of a megabyte of code has an escape or a quote in every line. */
export function readShape(text: string): JsonShape {
  let levels = 0
  let values = 0
  let isExact = true
  const refused = (problem: string): JsonShape => ({ problem, isReadExactly: false })
  for (let at = 0; at < text.length; at++) {
    const start = at
    const code = text.charCodeAt(at)
    switch (code) {
      case QUOTE:
        at = endOfText(text, start + 1)
        isExact &&= !isEscapedName(text, start + 1, at)
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
      default:
        if (code !== MINUS && !isDigit(code)) break
        at = endOfNumber(text, start)
        isExact &&= isWrittenAsRead(text, start, at + 1)
    }
    if (values > MOST_VALUES) return refused(`has more than ${MOST_VALUES} values`)
  }
  return { problem: null, isReadExactly: isExact }
}

/** Where the closing quote stands, or the end. `start`: behind the opening one. */
export function endOfString(bytes: Uint8Array, start: number): number {
  const quote = bytes.indexOf(QUOTE, start)
  if (quote < 0) return bytes.length
  if (bytes[quote - 1] !== BACKSLASH) return quote
  // Searching from escape to escape would cost a call for each.
  let at = start
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}
