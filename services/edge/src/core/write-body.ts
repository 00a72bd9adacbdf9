/**
 * Writes a request as JSON, and measures some of its members, so that nobody writes a large one a second time to know its
 * size.
 */

/** The length of each member's JSON, by the member's name. */
export type MemberBytes = Readonly<Partial<Record<string, number>>>

export interface WrittenBody {
  bytes: Buffer
  /** Holds the measured members that the request has. */
  memberBytes: MemberBytes
}

/** As `JSON.stringify` writes it. */
export function writeBody(request: Readonly<Record<string, unknown>>, measured: readonly string[]): WrittenBody {
  if (!measured.some((name) => request[name] !== undefined)) {
    return { bytes: Buffer.from(JSON.stringify(request)), memberBytes: {} }
  }
  /** Each second piece is a measured member. */
  const pieces: string[] = []
  const names: string[] = []
  let text = '{'
  let isFirst = true
  for (const name of Object.keys(request)) {
    const written = JSON.stringify(request[name])
    if (written === undefined) continue
    text += `${isFirst ? '' : ','}${JSON.stringify(name)}:`
    isFirst = false
    if (!measured.includes(name)) {
      text += written
      continue
    }
    names.push(name)
    pieces.push(text, written)
    text = ''
  }
  pieces.push(`${text}}`)
  return joined(pieces, names)
}

function joined(pieces: readonly string[], names: readonly string[]): WrittenBody {
  const lengths = pieces.map((piece) => Buffer.byteLength(piece))
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, 0))
  const memberBytes: Record<string, number> = {}
  let at = 0
  pieces.forEach((piece, index) => {
    const length = lengths[index]!
    if (index % 2 === 1) memberBytes[names[(index - 1) / 2]!] = length
    at += bytes.write(piece, at)
  })
  return { bytes, memberBytes }
}
