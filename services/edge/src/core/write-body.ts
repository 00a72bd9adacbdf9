/**
 * A request as JSON, and the places of those members in it that others ask about: so nobody writes a large one a second time
 * to know its size.
 */

export interface Place {
  /** In bytes. */
  at: number
  length: number
}
export type ConcurrencyLimiter = Readonly<Partial<Record<string, Place>>>

export interface WrittenBody {
  bytes: Buffer
  /** Of the members that were asked about and are there. */
  places: ConcurrencyLimiter
}

/** As `JSON.stringify` writes it. */
export function writeBody(request: Readonly<Record<string, unknown>>, asked: readonly string[]): WrittenBody {
  if (!asked.some((name) => request[name] !== undefined)) {
    return { bytes: Buffer.from(JSON.stringify(request)), places: {} }
  }
  /** Each second one is a member that was asked about. */
  const pieces: string[] = []
  const names: string[] = []
  let text = '{'
  let isFirst = true
  for (const name of Object.keys(request)) {
    const written = JSON.stringify(request[name])
    if (written === undefined) continue
    text += `${isFirst ? '' : ','}${JSON.stringify(name)}:`
    isFirst = false
    if (!asked.includes(name)) {
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
  const places: Record<string, Place> = {}
  let at = 0
  pieces.forEach((piece, index) => {
    const length = lengths[index]!
    if (index % 2 === 1) places[names[(index - 1) / 2]!] = { at, length }
    at += bytes.write(piece, at)
  })
  return { bytes, places }
}
