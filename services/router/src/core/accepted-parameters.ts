/**
 * Leaves out the members of a chat request that its target would ignore without a word, and names them for the client. The
 * vendors' profiles have the lists.
 */

import { parseExactly } from '@gateway/contracts/json'

/** The request without members that would be ignored. The client misses those that say something. */
export function keepAccepted(body: Buffer, accepted: ReadonlySet<string>): { body: Buffer; dropped: string[] } {
  const others = memberNames(body).filter((name) => !accepted.has(name))
  if (others.length === 0) return { body, dropped: [] }
  const request = parseExactly(body.toString('utf8')) as Record<string, unknown>
  const dropped = others.filter((name) => request[name] !== null)
  for (const name of others) delete request[name]
  return { body: Buffer.from(JSON.stringify(request)), dropped }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPENING = new Set([0x7b, 0x5b])
const CLOSING = new Set([0x7d, 0x5d])

/**
 * The names of a JSON object's own members, without parsing it: a prompt with images has megabytes. The text is JSON: the
 * edge has parsed it.
 */
export function memberNames(object: Buffer): string[] {
  const names: string[] = []
  let depth = 0
  let expectsName = true
  for (let at = 0; at < object.length; at++) {
    const byte = object[at]!
    if (byte === QUOTE) {
      const end = endOfText(object, at)
      if (depth === 1 && expectsName) names.push(JSON.parse(object.toString('utf8', at, end + 1)) as string)
      expectsName = false
      at = end
    } else if (OPENING.has(byte)) depth++
    else if (CLOSING.has(byte)) depth--
    else if (byte === COMMA && depth === 1) expectsName = true
  }
  return names
}

/** Where the text ends that begins there. */
function endOfText(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(QUOTE, from + 1); end > 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let backslashes = 0
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return bytes.length
}
