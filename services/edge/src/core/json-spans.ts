/**
 * Finds the members of a JSON object, and the elements of a list, as places in its bytes. Nothing is parsed but names, so a
 * conversation of megabytes becomes part of another text without being read.
 *
 * The finder checks no JSON inside of a value. It returns null where a text is no object or list, and a parser reads every
 * text that is put together from such places.
 */

import { endOfString } from '@gateway/contracts/json'

/** From the first byte of a value to the one behind it. */
export interface Span {
  start: number
  end: number
}

const [QUOTE, COMMA, COLON] = [0x22, 0x2c, 0x3a]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Each name's last value, as `JSON.parse` has it. `within`: the object, which spaces may surround. */
export function memberSpans(bytes: Buffer, within: Span = allOf(bytes)): Map<string, Span> | null {
  const object = outline(bytes, within, OPENING_BRACE, CLOSING_BRACE)
  if (object === null) return null
  const members = new Map<string, Span>()
  for (let at = object.start; at < object.end; at++) {
    const name = valueAt(bytes, at, object.end)
    if (name === null || bytes[name.start] !== QUOTE) return null
    const colon = skipSpace(bytes, name.end, object.end)
    const value = bytes[colon] === COLON ? valueAt(bytes, colon + 1, object.end) : null
    if (value === null) return null
    const text = nameIn(bytes, name)
    if (text === null) return null
    members.set(text, value)
    at = skipSpace(bytes, value.end, object.end)
    if (!isBetween(bytes, at, object.end)) return null
  }
  return members
}

export function elementSpans(bytes: Buffer, within: Span = allOf(bytes)): Span[] | null {
  const list = outline(bytes, within, OPENING_BRACKET, CLOSING_BRACKET)
  if (list === null) return null
  const elements: Span[] = []
  for (let at = list.start; at < list.end; at++) {
    const value = valueAt(bytes, at, list.end)
    if (value === null) return null
    elements.push(value)
    at = skipSpace(bytes, value.end, list.end)
    if (!isBetween(bytes, at, list.end)) return null
  }
  return elements
}

/** The end, or a comma that something follows. */
function isBetween(bytes: Buffer, at: number, limit: number): boolean {
  return at >= limit || (bytes[at] === COMMA && at < limit - 1)
}

/** The inside of brackets, without spaces at its ends; null where there are no such brackets. */
export function outline(bytes: Buffer, within: Span, opening: number, closing: number): Span | null {
  const { start, end } = trim(bytes, within)
  if (end - start < 2 || bytes[start] !== opening || bytes[end - 1] !== closing) return null
  return trim(bytes, { start: start + 1, end: end - 1 })
}

/** The elements of a list as they stand in the text; null where the value is no list. */
export function listContent(bytes: Buffer, within: Span): Span | null {
  return outline(bytes, within, OPENING_BRACKET, CLOSING_BRACKET)
}

function allOf({ length }: Buffer): Span {
  return { start: 0, end: length }
}

function nameIn(bytes: Buffer, { start, end }: Span): string | null {
  try {
    return JSON.parse(bytes.toString('utf8', start, end)) as string
  } catch {
    return null
  }
}

/** The value that begins at `from` or behind spaces; null where it does not end before `limit`. */
function valueAt(bytes: Buffer, from: number, limit: number): Span | null {
  const start = skipSpace(bytes, from, limit)
  const end = endOfValue(bytes, start, limit)
  return end > start && end <= limit ? { start, end } : null
}

function endOfValue(bytes: Buffer, start: number, limit: number): number {
  const first = bytes[start]
  if (first === QUOTE) return endOfString(bytes, start + 1) + 1
  if (first === OPENING_BRACE || first === OPENING_BRACKET) return endOfNested(bytes, start, limit)
  let at = start
  while (at < limit && !isSpace(bytes[at]!) && !isStop(bytes[at]!)) at++
  return at
}

function endOfNested(bytes: Buffer, start: number, limit: number): number {
  let levels = 0
  for (let at = start; at < limit; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at + 1)
        break
      case OPENING_BRACE:
      case OPENING_BRACKET:
        levels++
        break
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        if (--levels === 0) return at + 1
        break
    }
  }
  return limit + 1
}

function isStop(byte: number): boolean {
  return byte === COMMA || byte === COLON || byte === CLOSING_BRACE || byte === CLOSING_BRACKET
}

function trim(bytes: Buffer, { start, end }: Span): Span {
  const from = skipSpace(bytes, start, end)
  let to = end
  while (to > from && isSpace(bytes[to - 1]!)) to--
  return { start: from, end: to }
}

function skipSpace(bytes: Buffer, from: number, limit: number): number {
  let at = from
  while (at < limit && isSpace(bytes[at]!)) at++
  return at
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
