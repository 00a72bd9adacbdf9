/**
 * Rations repeats: asking a target again that has already failed this request. Trying each distinct target once is
 * free; repeats may add a tenth to a pool's load, so that a failing fleet is not buried under its own retries.
 */

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
