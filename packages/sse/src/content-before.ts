/**
 * The content of a response for which a receipt was signed. It needs nothing of Node, so that a browser runs it, too.
 */

import { LineState } from './line-state.ts'
import { isSignOfLife } from './signs-of-life.ts'

/**
 * `response`: a body, or a stream with an event that has the member `carried`, or the messages of a WebSocket, a line each. Returns the
 * complete body, or the events or lines before the last one that has it, without signs of life. A backend may have put a member of that
 * name into an earlier one.
 */
export function contentBefore(response: Uint8Array<ArrayBuffer>, carried: string): Uint8Array<ArrayBuffer> {
  const mark = `"${carried}":"`
  const before = (pieces: Uint8Array<ArrayBuffer>[], isEvent: RegExp) => {
    const carrierAt = pieces.findLastIndex((piece) => {
      const text = new TextDecoder().decode(piece)
      return text.includes(mark) && isEvent.test(text)
    })
    return carrierAt < 0 ? null : joined(pieces.slice(0, carrierAt).filter((piece) => !isSignOfLife(piece)))
  }
  return before(eventsOf(response), /^data:/m) ?? before(linesOf(response), MESSAGE) ?? response
}

/** The end of a response of the Responses API. */
const MESSAGE = /^\{.*"type":"response\./

const LF = 10

function linesOf(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const lines: Uint8Array<ArrayBuffer>[] = []
  for (let begin = 0; begin < bytes.length;) {
    const end = bytes.indexOf(LF, begin)
    const next = end < 0 ? bytes.length : end + 1
    lines.push(bytes.subarray(begin, next))
    begin = next
  }
  return lines
}

function eventsOf(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const events: Uint8Array<ArrayBuffer>[] = []
  let begin = 0
  new LineState().read(bytes, (end) => {
    events.push(bytes.subarray(begin, end))
    begin = end
  })
  if (begin < bytes.length) events.push(bytes.subarray(begin))
  return events
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const complete = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    complete.set(piece, at)
    at += piece.length
  }
  return complete
}
