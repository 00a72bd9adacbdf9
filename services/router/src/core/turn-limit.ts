/**
 * Limits the jobs that a process begins in one turn of its event loop, by the duration of the last turns. All other work waits
 * while the process does the work of these jobs. So a turn that took too long lowers the limit in proportion, and turns in time
 * raise it. It never falls below `least`: so few jobs do not make a turn long. Pure: the caller measures.
 */

export interface TurnLimit {
  readonly targetMs: number
  readonly least: number
  readonly most: number
  /** The most jobs that may begin in this turn. */
  value: number
}

/** One long turn lowers the limit to a quarter at most. */
const LEAST_FALL = 0.25
const RISE = 1.25

export function createTurnLimit(tuning: { targetMs: number; least: number; most: number }): TurnLimit {
  return { ...tuning, value: tuning.most }
}

export function afterTurn(limit: TurnLimit, begun: number, tookMs: number): void {
  const { targetMs, least, most } = limit
  if (tookMs > targetMs) {
    if (begun <= least) return
    limit.value = Math.max(least, Math.floor(Math.min(limit.value, begun) * Math.max(LEAST_FALL, targetMs / tookMs)))
  } else if (tookMs <= targetMs / 2 || begun >= limit.value) {
    limit.value = Math.min(most, Math.ceil(limit.value * RISE))
  }
}
