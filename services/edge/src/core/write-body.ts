/**
 * Writes a request as JSON, and measures its members, so that nobody writes a large one a second time to know its size.
 *
 * Prompt caches compare requests from their beginning. So a target gets the members in one order, not in the
 * client's. The conversation, which grows with each turn, comes last.
 */

/** The length of each member's JSON, by the member's name. */
export type MemberBytes = Readonly<Partial<Record<string, number>>>

/** The place of `"name":value` in a body. */
export interface BodyMember {
  name: string
  start: number
  end: number
}

export interface WrittenBody {
  /** As `JSON.stringify` writes it: an `Idempotency-Key` recognizes a request by these bytes. */
  bytes: Buffer
  members: readonly BodyMember[]
  /** Holds the measured members that the request has. */
  memberBytes: MemberBytes
}

export function writeBody(request: Readonly<Record<string, unknown>>, measured: readonly string[]): WrittenBody {
  const names: string[] = []
  /** Two of each member: its name, with all that stands before it, and its value. */
  const pieces: string[] = []
  for (const name of Object.keys(request)) {
    const value = JSON.stringify(request[name])
    if (value === undefined) continue
    pieces.push(`${names.length === 0 ? '{' : ','}${JSON.stringify(name)}:`, value)
    names.push(name)
  }
  const lengths = pieces.map((piece) => Buffer.byteLength(piece))
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, names.length === 0 ? 2 : 1))
  const members: BodyMember[] = []
  const memberBytes: Record<string, number> = {}
  let end = 0
  names.forEach((name, index) => {
    const start = end + 1
    end += bytes.write(pieces[2 * index]!, end)
    end += bytes.write(pieces[2 * index + 1]!, end)
    members.push({ name, start, end })
    if (measured.includes(name)) memberBytes[name] = lengths[2 * index + 1]!
  })
  bytes.write(names.length === 0 ? '{}' : '}', end)
  return { bytes, members, memberBytes }
}

const CONVERSATION = new Set(['messages', 'input'])

/** The body with its members in the order of their names, and the conversation last. */
export function inPromptOrder(body: Uint8Array, members: readonly BodyMember[]): Uint8Array {
  if (members.length < 2) return body
  const ordered = members.toSorted(compare)
  const bytes = Buffer.allocUnsafe(body.length)
  let at = 0
  for (const { start, end } of ordered) {
    bytes[at] = at === 0 ? OPENING_BRACE : COMMA
    at++
    bytes.set(body.subarray(start, end), at)
    at += end - start
  }
  bytes[at] = CLOSING_BRACE
  return bytes
}

const [OPENING_BRACE, CLOSING_BRACE, COMMA] = [0x7b, 0x7d, 0x2c]

function compare({ name: one }: BodyMember, { name: other }: BodyMember): number {
  const isOneLast = CONVERSATION.has(one)
  if (isOneLast !== CONVERSATION.has(other)) return isOneLast ? 1 : -1
  return one < other ? -1 : 1
}
