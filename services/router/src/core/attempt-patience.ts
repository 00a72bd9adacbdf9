/**
 * How long an attempt may be silent before it is given up.
 *
 * Until the first content (of a plain answer: as long as it lasts) nobody can tell a hung backend from one at work. So
 * silence ends an attempt only while another target would take the request: where there is none, giving up can only
 * lose, and the request's time alone bounds it. A stream that has begun has no other target; there silence is the end.
 */

export interface Silence {
  /** From the request to the first content of a stream, or to the first byte of a plain answer. */
  firstByteMs: number
  /** Between two pieces after that. */
  idleMs: number
}

export interface Patience {
  /** A stream begins with its first content, a plain answer with its first byte. */
  stream: boolean
  /** This attempt's part of the request's time, where that is shorter than `firstByteMs`. */
  shareMs: number
  /** Whether another target is usable and has a place, at this moment. */
  othersLeft(): boolean
}

/** Of calls that no client waits for. */
export const NO_PATIENCE: Patience = { stream: false, shareMs: Infinity, othersLeft: () => true }

export function endsAttempt(
  silence: 'first_byte_timeout' | 'idle_timeout',
  patience: Pick<Patience, 'stream' | 'othersLeft'>,
): boolean {
  return (patience.stream && silence === 'idle_timeout') || patience.othersLeft()
}

/**
 * A target that was left waiting is at fault only where another one was faster with the same request: a pool that is
 * merely slow has no target to blame.
 */
export function wasFaster(tookMs: number, leftAfterMs: number): boolean {
  return tookMs < leftAfterMs
}

/**
 * The share of one attempt, so that a hanging target never eats the time of others: what remains, divided among the
 * targets not yet tried (this one included). The last one gets all of it.
 */
export function attemptBudgetMs(remainingMs: number, untriedTargets: number): number {
  return Math.max(0, remainingMs) / Math.max(1, untriedTargets)
}
