/**
 * Walks the members of an object within a JSON text, without building its values. A caller can add a member to a text of
 * hundreds of kilobytes, and all other bytes stay.
 *
 * A place of -1 says that no object, or no JSON, begins there. Each function ends on any text.
 */

/**
 * Takes the name of a member and the places where its value and its name begin. Returns the place behind the value:
 * `skipValue` finds it for a caller that does not read the value.
 */
export type VisitMember = (name: string, at: number, nameAt: number) => number

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Returns the place behind the object that begins at `at`. */
export function walkMembers(text: string, at: number, visit: VisitMember): number {
  if (text.charCodeAt(at) !== OPENING_BRACE) return -1
  let place = skipSpace(text, at + 1)
  if (text.charCodeAt(place) === CLOSING_BRACE) return place + 1
  for (;;) {
    if (text.charCodeAt(place) !== QUOTE) return -1
    const nameAt = place
    const behind = skipText(text, nameAt)
    const name = text.slice(nameAt + 1, behind - 1)
    place = skipSpace(text, behind)
    if (text.charCodeAt(place) !== COLON) return -1
    place = visit(name, skipSpace(text, place + 1), nameAt)
    if (place < 0) return -1
    place = skipSpace(text, place)
    const code = text.charCodeAt(place)
    if (code === CLOSING_BRACE) return place + 1
    if (code !== COMMA) return -1
    place = skipSpace(text, place + 1)
  }
}

/** Calls `visit` with the place of each item, which returns the place behind it. Returns the place behind the list. */
export function walkItems(text: string, at: number, visit: (at: number) => number): number {
  if (text.charCodeAt(at) !== OPENING_BRACKET) return -1
  let place = skipSpace(text, at + 1)
  if (text.charCodeAt(place) === CLOSING_BRACKET) return place + 1
  for (;;) {
    place = visit(place)
    if (place < 0) return -1
    place = skipSpace(text, place)
    const code = text.charCodeAt(place)
    if (code === CLOSING_BRACKET) return place + 1
    if (code !== COMMA) return -1
    place = skipSpace(text, place + 1)
  }
}

/** Returns the place where the member's value begins, and looks no further. A later member of the same name is not seen. */
export function memberAt(text: string, at: number, name: string): number {
  let found = -1
  walkMembers(text, at, (each, place) => {
    if (each !== name) return skipValue(text, place)
    found = place
    return -1
  })
  return found
}

/** Returns the place behind the value that begins at `at`. */
export function skipValue(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return skipText(text, at)
  if (first !== OPENING_BRACE && first !== OPENING_BRACKET) return skipWord(text, at)
  let depth = 0
  for (let place = at; place < text.length; place++) {
    switch (text.charCodeAt(place)) {
      case QUOTE:
        place = skipText(text, place) - 1
        if (place < 0) return -1
        break
      case OPENING_BRACE:
      case OPENING_BRACKET:
        depth++
        break
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        if (--depth === 0) return place + 1
    }
  }
  return -1
}

/** Returns the place behind the closing quote. */
function skipText(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let first = quote
    while (first > at + 1 && text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((quote - first) % 2 === 0) return quote + 1
  }
  return -1
}

/** A number, `true`, `false` or `null`. */
function skipWord(text: string, at: number): number {
  let place = at
  while (isOfWord(text.charCodeAt(place))) place++
  return place > at ? place : -1
}

function isOfWord(code: number): boolean {
  return code > 0x20 && code !== COMMA && code !== CLOSING_BRACE && code !== CLOSING_BRACKET && code !== COLON
}

function skipSpace(text: string, at: number): number {
  let place = at
  while (text.charCodeAt(place) <= 0x20) place++
  return place
}
