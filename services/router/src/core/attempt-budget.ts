/**
 * Bounds the attempts of a request: how long one may be silent, its share of the time, and how many repeats follow.
 *
 * Until the first content (of a plain answer: as long as it lasts) nobody can tell a hung backend from one at work. So
 * silence ends an attempt only while another target would take the request: where there is none, giving up can only
 * lose, and the request's time alone bounds it. A stream that has begun has no other target; there silence is the end.
 *
 * Trying each distinct target once is free. Repeats may add a tenth to a pool's load, so that a failing fleet is not
 * buried under its own retries.
 */

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

/** Of a pool. */
export interface RetryBudget {
  tokens: number
}

const EARNED_PER_REQUEST = 0.1
const MOST_TOKENS = 10
export const MAX_REPEATS_PER_REQUEST = 2
const FIRST_PAUSE_MS = 50
/** A backend's own retry-after is waited for when it is at most this long. */
const LONGEST_PAUSE_MS = 5_000

export function newRetryBudget(): RetryBudget {
  return { tokens: MOST_TOKENS }
}

export function earn(budget: RetryBudget): RetryBudget {
  return { tokens: Math.min(MOST_TOKENS, budget.tokens + EARNED_PER_REQUEST) }
}

/** The budget after one repeat, or null when it has none to give. */
export function spend(budget: RetryBudget): RetryBudget | null {
  return budget.tokens >= 1 ? { tokens: budget.tokens - 1 } : null
}

/**
 * How long to wait before a repeat, or null when the wait is not worth it: it would take more than half of what
 * remains, or the backend asked for more than a request should wait.
 */
export function pauseBeforeRepeat(options: {
  repeats: number
  retryAfterMs: number | undefined
  remainingMs: number
  random: number
}): number | null {
  const backoff = FIRST_PAUSE_MS * 2 ** options.repeats * (0.5 + options.random)
  const pauseMs = Math.max(backoff, options.retryAfterMs ?? 0)
  return pauseMs <= LONGEST_PAUSE_MS && pauseMs <= options.remainingMs / 2 ? pauseMs : null
}
