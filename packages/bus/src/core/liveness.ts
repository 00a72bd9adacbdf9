/**
 * When silence means that a peer is gone, and when it only means that we could not hear.
 *
 * A peer is lost after `lostAfterMs` of silence. But silence does not count while we do not receive even our own
 * heartbeat: our connection is down, or the broker stands still. Nor does it for `graceMs` after that, nor after this
 * process itself stood still (a suspended machine, a long pause). An outage of our own that lasts `outageMs` loses
 * all peers. Pure: the clock is an argument.
 */

export interface LivenessTiming {
  heartbeatMs: number
  /** Silence after which a peer is lost. */
  lostAfterMs: number
  /** Silence and missing responders are forgiven for so long after our own connection came back. */
  graceMs: number
  /** An outage of our own after which all streams are given up. */
  outageMs: number
  tickMs: number
}

export interface Liveness {
  readonly timing: LivenessTiming
  /** We send ourselves a heartbeat, too; one that is this late says that nobody can be heard. */
  readonly deafAfterMs: number
  connected: boolean
  sawOurselvesAtMs: number
  /** Silence is not judged before this time. */
  judgeFromMs: number
  /** Until then peers are still reconnecting after an outage that we shared. */
  recoveringUntilMs: number
  tickedAtMs: number
}

export function createLiveness(timing: LivenessTiming, nowMs: number): Liveness {
  return {
    timing,
    deafAfterMs: 1.5 * timing.heartbeatMs,
    connected: true,
    sawOurselvesAtMs: nowMs,
    judgeFromMs: 0,
    recoveringUntilMs: 0,
    tickedAtMs: nowMs,
  }
}

export function connectionChanged(liveness: Liveness, connected: boolean, nowMs: number): void {
  liveness.connected = connected
  if (connected) startRecovery(liveness, nowMs)
}

/** Our own heartbeat came back to us. */
export function sawOurselves(liveness: Liveness, nowMs: number): void {
  if (isDeaf(liveness, nowMs)) startRecovery(liveness, nowMs)
  liveness.sawOurselvesAtMs = nowMs
}

function startRecovery(liveness: Liveness, nowMs: number): void {
  liveness.sawOurselvesAtMs = nowMs
  liveness.judgeFromMs = nowMs + liveness.timing.graceMs
  liveness.recoveringUntilMs = nowMs + liveness.timing.graceMs
}

function isDeaf(liveness: Liveness, nowMs: number): boolean {
  return !liveness.connected || nowMs - liveness.sawOurselvesAtMs > liveness.deafAfterMs
}

/** `pauseMs`: the wait that was meant since the last tick. Returns for how long this process stood still, 0 when it did not. */
export function tick(liveness: Liveness, nowMs: number, pauseMs: number): number {
  const stoodStillMs = nowMs - liveness.tickedAtMs - pauseMs
  liveness.tickedAtMs = nowMs
  if (stoodStillMs < liveness.timing.lostAfterMs / 3) return 0
  liveness.judgeFromMs = Math.max(liveness.judgeFromMs, nowMs + liveness.timing.graceMs)
  return stoodStillMs
}

export function isLost(liveness: Liveness, lastSeenAtMs: number, nowMs: number): boolean {
  if (isDeaf(liveness, nowMs)) return nowMs - liveness.sawOurselvesAtMs > liveness.timing.outageMs
  return nowMs >= liveness.judgeFromMs && nowMs - lastSeenAtMs > liveness.timing.lostAfterMs
}

/** A missing responder may only not have reconnected yet. */
export function isRecovering(liveness: Liveness, nowMs: number): boolean {
  return nowMs < liveness.recoveringUntilMs
}
