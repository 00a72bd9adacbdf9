/**
 * Splits a stream into its server-sent events.
 */

import { EventBoundaries } from './event-boundaries.ts'

/** `bytes`: complete events. Bytes behind the last of them are one more. */
export function splitEvents(bytes: Buffer): Buffer[] {
  const events: Buffer[] = []
  let begin = 0
  new EventBoundaries().forEachEnd(bytes, (end) => {
    events.push(bytes.subarray(begin, end))
    begin = end
  })
  if (begin < bytes.length) events.push(bytes.subarray(begin))
  return events
}
