/**
 * How long a caller waits for a job to be accepted before it is offered again.
 *
 * A worker that is frozen or dead never accepts, so the wait should be short; one that is merely busy accepts late, and
 * a second offer only adds to what it has to do. The two are told apart by what accepting took of late, as a TCP sender
 * tells a lost segment from a slow one: the usual time and four times its spread, never less than `leastMs`, never more
 * than `mostMs`. Accepts that come after the caller gave up count too. Pure: the clock is an argument.
 */

export interface AcceptPatience {
  readonly leastMs: number
  readonly mostMs: number
  usualMs: number
  spreadMs: number
}

const USUAL_GAIN = 1 / 8
const SPREAD_GAIN = 1 / 4
const SPREADS = 4
/** A timer that is late by less than this part of the least wait is no sign that this process stood still. */
const LATE = 1 / 5

export function createAcceptPatience(leastMs: number, mostMs: number): AcceptPatience {
  return { leastMs, mostMs: Math.max(leastMs, mostMs), usualMs: 0, spreadMs: 0 }
}

/** An accept that took longer than anybody waits tells of a worker that was frozen, not of one that is busy. */
export function noteAccepted(patience: AcceptPatience, tookMs: number): void {
  if (tookMs > patience.mostMs) return
  patience.spreadMs += (Math.abs(tookMs - patience.usualMs) - patience.spreadMs) * SPREAD_GAIN
  patience.usualMs += (tookMs - patience.usualMs) * USUAL_GAIN
}

export function patienceMs({ leastMs, mostMs, usualMs, spreadMs }: AcceptPatience): number {
  return Math.min(mostMs, Math.max(leastMs, usualMs + SPREADS * spreadMs))
}

export interface Wait {
  /** What the caller asked for: it waits that long at least. */
  atLeastMs: number
  waitedMs: number
  /** By how much later than planned this process looks: it stood still, and so may the offer and its answer. */
  lateMs: number
}

/** What is left of the wait now that the time planned for it is over; 0: offer the job again. */
export function leftToWaitMs(patience: AcceptPatience, { atLeastMs, waitedMs, lateMs }: Wait): number {
  const whole = Math.max(atLeastMs, patienceMs(patience))
  const stoodStillMs = lateMs < patience.leastMs * LATE ? 0 : Math.min(lateMs, patience.leastMs)
  const left = Math.max(whole - waitedMs, stoodStillMs)
  const most = Math.max(atLeastMs, patience.mostMs) - (waitedMs - lateMs)
  return Math.max(0, Math.min(left, most))
}
