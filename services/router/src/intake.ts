/**
 * How many jobs this router takes on in one turn of its event loop. While it is late with what it has, it gives jobs back:
 * another router may be free, and where none is, edges refuse requests before anything is reserved for them.
 */

import { createIntakeLimit, hasRoom, judge, noteWait, WINDOW_MS } from '@gateway/service/intake-limit'

/**
 * `targetMs`: a turn may take so long. A stream's chunks wait for as long, and an edge's job for two turns.
 * `least`: a router begins so many within 30 ms, and within the target on a machine a fifth as fast.
 */
const TUNING = { targetMs: 150, least: 32, most: 1_024 }
const TICK_MS = 20

export interface Intake extends Disposable {
  /** Whether one more job is taken on in this turn. */
  takes(): boolean
  readonly limit: number
}

/** `now` and `every` are the clock: a tick that comes late has waited for the turn before it. */
export function openIntake(onRefused: () => void, now: () => number = () => performance.now()): Intake {
  const limit = createIntakeLimit(TUNING, now())
  let taken = 0
  let tickedAtMs = now()
  let judgedAtMs = tickedAtMs
  const timer = setInterval(() => {
    const nowMs = now()
    // Due one tick after the last.
    noteWait(limit, Math.min(nowMs, tickedAtMs + TICK_MS), nowMs)
    tickedAtMs = nowMs
    if (nowMs - judgedAtMs >= WINDOW_MS) {
      judge(limit, taken, nowMs)
      judgedAtMs = nowMs
    }
    taken = 0
  }, TICK_MS).unref()
  return {
    takes() {
      if (!hasRoom(limit, taken)) {
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
