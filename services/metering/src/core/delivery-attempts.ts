/**
 * The state of a delivery after an attempt: delivered, tried again later, or a dead letter a day after it was due.
 */

export type AttemptOutcome =
  | { kind: 'delivered' }
  | { kind: 'failed'; fault: string }
  /** The receiver wants this delivery never, however often it comes. */
  | { kind: 'rejected'; fault: string }
  /** The receiver wants no more deliveries at all. */
  | { kind: 'gone'; fault: string }

export interface Attempt {
  /** With this one; counts from 1. */
  attempts: number
  /** From when the delivery was due to the end of the attempt. */
  ageMs: number
  /** From 0 to below 1. */
  chance: number
}

export type NextState =
  | { state: 'delivered' }
  | { state: 'dead'; fault: string }
  | { state: 'waiting'; delayMs: number; fault: string }
  /** It waits with the others of its webhook, and the attempt does not count. */
  | { state: 'disabled'; fault: string }

export const GIVE_UP_AFTER_MS = 86_400_000
const FIRST_DELAY_MS = 5_000
const LONGEST_DELAY_MS = 21_600_000
const GROWTH = 3
/** Deliveries that failed together are not tried again together. */
const JITTER = 0.2

export function afterAttempt(outcome: AttemptOutcome, attempt: Attempt): NextState {
  switch (outcome.kind) {
    case 'delivered':
      return { state: 'delivered' }
    case 'gone':
      return { state: 'disabled', fault: outcome.fault }
    case 'rejected':
      return { state: 'dead', fault: outcome.fault }
    case 'failed': {
      const leftMs = GIVE_UP_AFTER_MS - attempt.ageMs
      if (leftMs <= 0) return { state: 'dead', fault: outcome.fault }
      // The last attempt is at the end of the day.
      return { state: 'waiting', delayMs: Math.min(delayMs(attempt), Math.ceil(leftMs)), fault: outcome.fault }
    }
  }
}

function delayMs({ attempts, chance }: Attempt): number {
  const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * GROWTH ** (attempts - 1))
  return Math.round(delay * (1 - JITTER + 2 * JITTER * chance))
}
