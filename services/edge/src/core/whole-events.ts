/**
 * Passes a stream of server-sent events on in whole events, however the bus cut it: what breaks off an answer, or keeps
 * its connection alive, then never stands inside an event.
 *
 * What is held is one unfinished event, which the router bounds. Nothing is added, left out or moved.
 */

const LF = 0x0a
const CR = 0x0d
const EMPTY_LINE = Buffer.from('\n\n')
const NOTHING = new Uint8Array(0)

export interface WholeEvents {
  /** What of the stream ends with a whole event and has not been passed on yet; often all of `bytes`, often a view. */
  push(bytes: Uint8Array): Uint8Array
  /** The stream has ended in good order: what is still held. */
  end(): Uint8Array
}

export function wholeEvents(): WholeEvents {
  let held: Uint8Array[] = []
  let lineIsEmpty = true
  let afterCr = false
  /** The CR before ended an event, and the LF that may follow is its last byte. */
  let crEndedEvent = false

  /** Where in these bytes the last event ends; 0 where none does. */
  function endOfLastEvent(bytes: Uint8Array): number {
    if (bytes.length > 0 && !afterCr && !bytes.includes(CR)) return endByLineFeeds(bytes)
    let end = 0
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]
      if (byte === LF && afterCr) {
        afterCr = false
        if (crEndedEvent) end = i + 1
      } else if (byte === LF || byte === CR) {
        if (lineIsEmpty) end = i + 1
        afterCr = byte === CR
        crEndedEvent = lineIsEmpty
        lineIsEmpty = true
      } else {
        lineIsEmpty = false
        afterCr = false
      }
    }
    return end
  }

  /** Large events come in many pieces, of which each byte would be looked at. */
  function endByLineFeeds(bytes: Uint8Array): number {
    const pair = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).lastIndexOf(EMPTY_LINE)
    const opening = lineIsEmpty && bytes[0] === LF ? 1 : 0
    lineIsEmpty = bytes[bytes.length - 1] === LF
    return pair < 0 ? opening : pair + EMPTY_LINE.length
  }

  function take(last: Uint8Array): Uint8Array {
    if (held.length === 0) return last
    const whole = Buffer.concat([...held, last])
    held = []
    return whole
  }

  return {
    push(bytes) {
      if (held.length === 0 && endsWithEmptyLine(bytes)) {
        lineIsEmpty = true
        afterCr = false
        return bytes
      }
      const end = endOfLastEvent(bytes)
      const whole = end === 0 ? NOTHING : take(bytes.subarray(0, end))
      if (end < bytes.length) held.push(bytes.subarray(end))
      return whole
    },
    end: () => take(NOTHING),
  }
}

/** The usual end of an event, and of nearly every frame. */
function endsWithEmptyLine(bytes: Uint8Array): boolean {
  return bytes[bytes.length - 1] === LF && bytes[bytes.length - 2] === LF
}

/** How many events a piece holds that `wholeEvents` passed on, and where the last of them begins. */
export function findEvents(bytes: Uint8Array): { count: number; lastAt: number } {
  let count = 0
  let lastAt = 0
  let nextAt = 0
  let from = bytes.indexOf(LF)
  while (from !== -1 && from + 1 < bytes.length) {
    const next = bytes[from + 1]
    const isCrLf = next === CR && bytes[from + 2] === LF
    if (next === LF || isCrLf) {
      count++
      lastAt = nextAt
      nextAt = from + (isCrLf ? 3 : 2)
    }
    from = bytes.indexOf(LF, from + 2)
  }
  return { count, lastAt }
}
