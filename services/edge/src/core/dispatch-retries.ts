/**
 * When a job that nobody serves is dispatched again.
 *
 * A router that is restarted is back within seconds, so a job waits that long for one; a frozen router keeps taking
 * its share of the queue, so a timeout is repeated at once: the bus names a router that is awake. A job may itself have
 * killed its router, or block it for so long that it counts as lost. So the edge gives the job up at the second loss: one
 * killed router is no reason to, and a bad job does not go round until every router stands still.
 */

/** `busy`: the router that was asked is late with what it has. */
export type Unavailability = 'no_responder' | 'timeout' | 'rejected' | 'lost' | 'busy'

/** How long a job waits for any router at all before its client is told. */
const MAX_WAIT_FOR_ROUTER_MS = 15_000
const FIRST_TIMEOUT_MS = 500
const MAX_TIMEOUT_MS = 2_000
const FIRST_DELAY_MS = 25
/**
 * Routers that are all late are asked for so long. A router counts jobs by the turns of its event loop, which last as long
 * as it is late: a number of tries could all fall into a few of them, and a burst that it can serve would be refused.
 */
export const BUSY_TIMEOUT_MS = 1_500
const MAX_DELAY_MS = 500

/** The edge gives a job up after this many losses. Two routers may be killed one after the other, and a third still serves. */
export const MOST_LOSSES = 3
const DELAY_AFTER_LOSS_MS = 250

interface Unserved {
  reason: Unavailability
  /** The number of the dispatch, from 1. */
  attempt: number
  /** How many routers were lost while they had the job. */
  losses: number
  /** From the first dispatch, or from the loss of the router that had the job last. */
  waitedMs: number
  remainingMs: number
}

export interface DispatchState {
  afterMs: number
  /** How long it waits to be accepted; undefined: the bus' own, short time. */
  acceptTimeoutMs: number | undefined
}

/** Null: give up. */
export function retry({ reason, attempt, losses, waitedMs, remainingMs }: Unserved): DispatchState | null {
  if (remainingMs <= 0 || waitedMs >= MAX_WAIT_FOR_ROUTER_MS || losses >= MOST_LOSSES) return null
  if (reason === 'busy' && waitedMs >= BUSY_TIMEOUT_MS) return null
  const afterMs = delayAfter(reason, attempt)
  return afterMs < remainingMs ? { afterMs, acceptTimeoutMs: acceptTimeoutMs(attempt + 1) } : null
}

/**
 * It grows from the third dispatch on: where routers are overloaded rather than frozen, each dispatch adds to what they
 * have to do.
 */
function acceptTimeoutMs(attempt: number): number | undefined {
  return attempt <= 2 ? undefined : Math.min(MAX_TIMEOUT_MS, FIRST_TIMEOUT_MS * 2 ** (attempt - 3))
}

function delayAfter(reason: Unavailability, attempt: number): number {
  if (reason === 'timeout') return 0
  if (reason === 'lost') return DELAY_AFTER_LOSS_MS
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 10))
}
