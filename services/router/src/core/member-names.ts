/**
 * The names of a JSON object's own members, without parsing it: a prompt with images has megabytes. The text is JSON:
 * the edge has parsed it.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPENING = new Set([0x7b, 0x5b])
const CLOSING = new Set([0x7d, 0x5d])

export function memberNames(object: Uint8Array): string[] {
  const bytes = Buffer.from(object.buffer, object.byteOffset, object.byteLength)
  const names: string[] = []
  let depth = 0
  let expectsName = true
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      const end = endOfText(bytes, at)
      if (depth === 1 && expectsName) names.push(JSON.parse(bytes.toString('utf8', at, end + 1)) as string)
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
