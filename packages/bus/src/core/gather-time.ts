/**
 * How long durable events are gathered before they are handled together. Few large batches cost a database far less than
 * many small ones: a busy consumer spends about a tenth of its time handling, and one with little to do hands over soon.
 */

const SHORTEST_MS = 50
/** Whoever asks for what has been recorded sees it this much later at most. */
const LONGEST_MS = 1_000
const TIMES_THE_WORK = 10

/** `lastTookMs`: how long the batch before took to be handled. */
export function gatherTimeMs(lastTookMs: number): number {
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, TIMES_THE_WORK * lastTookMs))
}
