/**
 * When silence means that a peer is gone, and when it only means that we could not hear.
 *
 * A peer is lost after `lostAfterMs` of silence, but silence does not count while our own connection is down, for
 * `graceMs` after it came back, or after this process itself stood still (a suspended machine, a long pause). An outage
 * of our own that lasts `outageMs` loses them all. Pure: the clock is an argument.
 */

export interface Liveness {
  readonly lostAfterMs: number
  readonly graceMs: number
  readonly outageMs: number
  readonly tickMs: number
  connected: boolean
  disconnectedAtMs: number
  /** Silence is not judged before this time. */
  judgeFromMs: number
  /** Until then peers are still reconnecting after an outage that we shared. */
  settlingUntilMs: number
  tickedAtMs: number
}

export type LivenessTiming = Pick<Liveness, 'lostAfterMs' | 'graceMs' | 'outageMs' | 'tickMs'>

export function createLiveness(timing: LivenessTiming, nowMs: number): Liveness {
  const { lostAfterMs, graceMs, outageMs, tickMs } = timing
  return {
    lostAfterMs,
    graceMs,
    outageMs,
    tickMs,
    connected: true,
    disconnectedAtMs: 0,
    judgeFromMs: 0,
    settlingUntilMs: 0,
    tickedAtMs: nowMs,
  }
}

export function connectionChanged(liveness: Liveness, connected: boolean, nowMs: number): void {
  liveness.connected = connected
  if (!connected) {
    liveness.disconnectedAtMs = nowMs
    return
  }
  liveness.judgeFromMs = nowMs + liveness.graceMs
  liveness.settlingUntilMs = nowMs + liveness.graceMs
}

/** To be called every `tickMs`. Returns for how long this process stood still, 0 when it did not. */
export function tick(liveness: Liveness, nowMs: number): number {
  const stoodStillMs = nowMs - liveness.tickedAtMs - liveness.tickMs
  liveness.tickedAtMs = nowMs
  if (stoodStillMs < liveness.lostAfterMs / 3) return 0
  liveness.judgeFromMs = Math.max(liveness.judgeFromMs, nowMs + liveness.graceMs)
  return stoodStillMs
}

export function isLost(liveness: Liveness, lastHeardAtMs: number, nowMs: number): boolean {
  if (!liveness.connected) return nowMs - liveness.disconnectedAtMs > liveness.outageMs
  return nowMs >= liveness.judgeFromMs && nowMs - lastHeardAtMs > liveness.lostAfterMs
}

/** A missing responder may only not have reconnected yet. */
export function isSettling(liveness: Liveness, nowMs: number): boolean {
  return nowMs < liveness.settlingUntilMs
}
