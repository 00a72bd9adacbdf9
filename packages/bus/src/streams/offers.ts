/**
 * The offers of this process that nobody has accepted yet, or not in time: how long accepting takes, and how long it is
 * waited for.
 */

import { createAcceptPatience, leftToWaitMs, noteAccepted, patienceMs, type Wait } from '../core/accept-patience.ts'
import type { Tuning } from '../tuning.ts'

/** Given up ones that are remembered for an accept that is on its way. */
const MOST_REMEMBERED = 1_024

export interface Offers {
  patienceMs(atLeastMs: number): number
  leftToWaitMs(wait: Wait): number
  accepted(offeredAtMs: number, nowMs: number): void
  gaveUp(stream: number, offeredAtMs: number): void
  /** A frame of a stream that is over. */
  acceptedLate(stream: number, nowMs: number): void
}

export function openOffers({ acceptTimeoutMs, acceptTimeoutMostMs }: Tuning): Offers {
  const patience = createAcceptPatience(acceptTimeoutMs, acceptTimeoutMostMs)
  /** Oldest first. */
  const givenUp = new Map<number, number>()

  return {
    patienceMs: (atLeastMs) => Math.max(atLeastMs, patienceMs(patience)),
    leftToWaitMs: (wait) => leftToWaitMs(patience, wait),
    accepted: (offeredAtMs, nowMs) => noteAccepted(patience, nowMs - offeredAtMs),
    gaveUp(stream, offeredAtMs) {
      if (givenUp.size >= MOST_REMEMBERED) givenUp.delete(givenUp.keys().next().value!)
      givenUp.set(stream, offeredAtMs)
    },
    acceptedLate(stream, nowMs) {
      const offeredAtMs = givenUp.get(stream)
      if (offeredAtMs === undefined) return
      givenUp.delete(stream)
      noteAccepted(patience, nowMs - offeredAtMs)
    },
  }
}
