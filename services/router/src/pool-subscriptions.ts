/**
 * Limits the jobs that this router takes on in one turn of its event loop. While it is late with its jobs, it gives new
 * ones back: another router may be free. Where none is, edges refuse requests before anything is reserved for them.
 */

import { afterTurn, createTurnLimit } from './core/turn-limit.ts'

/**
 * `targetMs`: a turn may take so long. A stream's chunks wait for as long, and an edge's job for two turns.
 * `least`: a router begins so many within 30 ms.
 */
const TUNING = { targetMs: 60, least: 32, most: 1_024 }
const TICK_MS = 20

export interface PoolSubscriptions extends Disposable {
  /** True if one more job is taken on in this turn. */
  takes(): boolean
  readonly limit: number
}

/** `now` is the clock: a tick that comes late has waited for the turn before it. A router at rest with its full limit does not tick. */
export function openPoolSubscriptions(
  onRefused: () => void,
  now: () => number = () => performance.now(),
): PoolSubscriptions {
  const limit = createTurnLimit(TUNING)
  let taken = 0
  let tickedAtMs = 0
  let timer: NodeJS.Timeout | undefined

  function begin(): void {
    tickedAtMs = now()
    timer = setInterval(tick, TICK_MS).unref()
  }

  function tick(): void {
    const nowMs = now()
    const wasIdle = taken === 0
    afterTurn(limit, taken, nowMs - tickedAtMs)
    tickedAtMs = nowMs
    taken = 0
    if (!wasIdle || limit.value < limit.most) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    takes() {
      if (timer === undefined) begin()
      if (taken >= limit.value) {
        onRefused()
        return false
      }
      taken++
      return true
    },
    get limit() {
      return limit.value
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
