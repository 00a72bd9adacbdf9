/**
 * How long one attempt may take, so that a hanging target never eats the time of those not yet tried.
 */

/**
 * The share of one attempt: what remains, divided among the targets not yet tried (this one included). The last one
 * gets all that is left.
 */
export function attemptBudgetMs(remainingMs: number, untriedTargets: number): number {
  return Math.max(0, remainingMs) / Math.max(1, untriedTargets)
}
