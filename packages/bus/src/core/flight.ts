/**
 * How many bytes are on their way from this process to one other, so that no broker has to hold more than it may.
 *
 * The sender puts a mark into the flow every so often; the receiver echoes it. All bytes after the last echoed mark
 * count as in flight. A mark or an echo that is lost delays the count until the next one, never falsifies it. This
 * window is about reception alone: a reader that consumes slowly holds back its own stream only.
 */

export interface Flight {
  readonly windowBytes: number
  readonly markEveryBytes: number
  sent: number
  echoed: number
  lastMark: number
  markedAtBytes: number
  /** Marks under way: number, bytes sent before it, and when it was sent. */
  readonly marks: { n: number; sent: number; atMs: number }[]
}

export function createFlight(windowBytes: number, markEveryBytes: number): Flight {
  return { windowBytes, markEveryBytes, sent: 0, echoed: 0, lastMark: 0, markedAtBytes: 0, marks: [] }
}

export function inFlightBytes(flight: Flight): number {
  return flight.sent - flight.echoed
}

export function mayFly(flight: Flight): boolean {
  return inFlightBytes(flight) < flight.windowBytes
}

/** Counts bytes sent; true when a mark is due. */
export function countSent(flight: Flight, bytes: number): boolean {
  flight.sent += bytes
  return flight.sent - flight.markedAtBytes >= flight.markEveryBytes
}

/** The number of a mark that is sent now. */
export function takeMark(flight: Flight, nowMs: number): number {
  flight.markedAtBytes = flight.sent
  flight.lastMark = (flight.lastMark + 1) >>> 0
  flight.marks.push({ n: flight.lastMark, sent: flight.sent, atMs: nowMs })
  return flight.lastMark
}

/** Mark `n` has arrived, and so has or is lost all that went before it. Returns when it was sent. */
export function echo(flight: Flight, n: number): number | null {
  const at = flight.marks.findIndex((mark) => mark.n === n)
  if (at < 0) return null
  const { sent, atMs } = flight.marks[at]!
  flight.echoed = sent
  flight.marks.splice(0, at + 1)
  return atMs
}
