/**
 * How many jobs a process begins in one turn of its event loop, found out from how long the last turns took. What is begun in a
 * turn is done in it and the next ones, and everything else waits meanwhile. So a turn that was too long leaves fewer to the next,
 * in proportion, and turns in time leave more. It never falls below `least`: a turn that is long with so few is so for another
 * cause. Pure: the caller measures.
 */

export interface TurnLimit {
  readonly targetMs: number
  readonly least: number
  readonly most: number
  /** At most so many in this turn. */
  value: number
}

/** One long turn is no proof of more. */
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
