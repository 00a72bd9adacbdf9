/**
 * Decides when the edge dispatches a job again that no router serves.
 *
 * A restarted router is back within seconds, so a job waits that long for one. A frozen router keeps taking its share of the
 * queue. So the edge repeats a dispatch at once after a timeout, and the bus names a router that is awake.
 *
 * A job may itself have killed its router, or block it for so long that it counts as lost. So the edge gives the job up at
 * the second loss. One killed router is no reason to give up, and a bad job does not go round until every router stands
 * still.
 */

/** `busy`: the router is late with the jobs that it already has. */
export type Unavailability = 'no_responder' | 'timeout' | 'rejected' | 'lost' | 'busy'

/** A job waits so long for any router at all; then its client gets an error. */
const MAX_WAIT_FOR_ROUTER_MS = 15_000
const FIRST_TIMEOUT_MS = 500
const MAX_TIMEOUT_MS = 2_000
const FIRST_DELAY_MS = 25
/**
 * While all routers are late, the edge tries them for so long. A router counts jobs by the turns of its event loop, and a
 * late router's turns are long. A fixed number of tries could all fall into a few of those turns. The edge would then refuse
 * a burst that the routers can serve.
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
  /** The number of routers that were lost while they had the job. */
  losses: number
  /** From the first dispatch, or from the loss of the router that had the job last. */
  waitedMs: number
  remainingMs: number
}

export interface DispatchState {
  afterMs: number
  /** The time within which a router must accept it; undefined: the bus' own, short time. */
  acceptTimeoutMs: number | undefined
}

/** Null: give up. */
export function retry({ reason, attempt, losses, waitedMs, remainingMs }: Unserved): DispatchState | null {
  if (remainingMs <= 0 || waitedMs >= MAX_WAIT_FOR_ROUTER_MS || losses >= MOST_LOSSES) return null
  if (reason === 'busy' && waitedMs >= BUSY_TIMEOUT_MS) return null
  const afterMs = delayAfter(reason, attempt)
  return afterMs < remainingMs ? { afterMs, acceptTimeoutMs: acceptTimeoutMs(attempt + 1) } : null
}

/** It grows from the third dispatch on: where routers are overloaded rather than frozen, each dispatch adds to their work. */
function acceptTimeoutMs(attempt: number): number | undefined {
  return attempt <= 2 ? undefined : Math.min(MAX_TIMEOUT_MS, FIRST_TIMEOUT_MS * 2 ** (attempt - 3))
}

function delayAfter(reason: Unavailability, attempt: number): number {
  if (reason === 'timeout') return 0
  if (reason === 'lost') return DELAY_AFTER_LOSS_MS
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 10))
}
