/**
 * The content of a response for which a receipt was signed. It needs nothing of Node, so that a browser runs it, too.
 */

import { LineState } from './line-state.ts'
import { isSignOfLife } from './signs-of-life.ts'

/**
 * `response`: a body, or a stream with an event that has the member `carried`. Returns the complete body, or the events before the
 * last such event, without signs of life. A backend may have put a member of that name into an earlier one.
 */
export function contentBefore(response: Uint8Array<ArrayBuffer>, carried: string): Uint8Array<ArrayBuffer> {
  const events = eventsOf(response)
  const mark = `"${carried}":"`
  const carrierAt = events.findLastIndex((event) => {
    const text = new TextDecoder().decode(event)
    return /^data:/m.test(text) && text.includes(mark)
  })
  return carrierAt < 0 ? response : joined(events.slice(0, carrierAt).filter((event) => !isSignOfLife(event)))
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
