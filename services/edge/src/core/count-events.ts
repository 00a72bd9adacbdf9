/**
 * Counts the server-sent events that end in a piece of a stream. An event ends with an empty line.
 */

const LINE_FEED = 0x0a

/** Of whole events, as `wholeEvents` passes them on. */
export function countEvents(bytes: Uint8Array): number {
  let events = 0
  let from = bytes.indexOf(LINE_FEED)
  while (from !== -1 && from + 1 < bytes.length) {
    const next = bytes[from + 1]
    if (next === LINE_FEED || (next === 0x0d && bytes[from + 2] === LINE_FEED)) events++
    from = bytes.indexOf(LINE_FEED, from + 2)
  }
  return events
}
