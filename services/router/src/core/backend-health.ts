/**
 * The health of one backend, or of one model on it, learnt from the traffic itself.
 *
 * healthy ──failures──> ejected ──interval over──> half-open ──first content──> healthy
 *                          ^─────────failure──────────┘  (with twice the interval)
 *
 * A client may send a body that no backend survives. So soft failures count once for each body of a request, and those of
 * a single account put the target out for that account alone. The others notice nothing, until a second account meets a
 * failure. A failure that no body can cause puts the target out for all: a hard failure, or a failed probe.
 *
 * A 429 cools the target instead: nothing chooses it for the time that the backend requested, and it gets no mark. A
 * half-open target takes one request at a time, and a further one after five seconds of silence: a plain response may
 * take minutes. The health names its half-open attempt, so no other attempt can end or prolong it. An attempt that began
 * before the last ejection or recovery says nothing about the target as it is now. Values in, values out; the clock is an
 * argument.
 */

import type { HealthView } from '@gateway/contracts/routers-api'
import type { FailureAttribution } from './backend-fault.ts'

/** One attempt. Health compares attempts by identity. */
export interface Attempt {
  readonly startedAtMs: number
  readonly account: string
}

/** The request that met a soft failure. */
export interface SoftFailure {
  account: string
  /** A digest of its body. */
  body: string
}

/** A failure as its target's health sees it. */
export interface AttributedFailure extends FailureAttribution {
  /** The stable word of the fault. */
  outcome: string
  /** A digest of the request's body. */
  body: string
  /** This body has failed at another backend, too: it counts once for all accounts. */
  failsElsewhere: boolean
}

export interface Health {
  /** Consecutive failures of different requests, the newest last. */
  softFailures: readonly SoftFailure[]
  /** Consecutive soft failures, those of repeats too. */
  consecutiveFailures: number
  /**
   * The time of the last of three or more failures in a row. A probe then finds out whether the request or the target is
   * at fault.
   */
  doubtedAtMs: number
  /** Ejections without a recovery that lasted; each doubles the next interval. */
  ejections: number
  /** The same, of those that were for one account alone. */
  ejectionsForOne: number
  /** The one account that the last ejection is for; null: it is for all. */
  outFor: string | null
  /** All other accounts try it one at a time, too, since it had been out for all. */
  othersTryToo: boolean
  /** Out of the choice until then; 0 when it never was. */
  ejectedUntilMs: number
  coolingUntilMs: number
  /** The first ejection since the last recovery; of use while it is out or half-open. */
  outSinceMs: number
  /** The outcome that caused the last ejection; null: there was none. */
  cause: string | null
  /** Half-open since its last ejection, until a request has content. */
  halfOpen: boolean
  /** The newest attempt at the half-open target. */
  halfOpenAttempt: Attempt | null
  recoveredAtMs: number
  /** The time of the last ejection, or the start of the attempt that proved the last recovery. Older attempts count no more. */
  turnedAtMs: number
  /** The same, without ejections for one account. */
  turnedForAllAtMs: number
}

const SOFT_FAILURES_IN_A_ROW = 3
const FIRST_EJECTION_MS = 1_000
const LONGEST_EJECTION_MS = 60_000
const HALF_OPEN_ALONE_MS = 5_000
/** This long without a failure forgets earlier ejections. */
const FORGIVEN_AFTER_MS = 60_000

export function newHealth(): Health {
  return {
    softFailures: [],
    consecutiveFailures: 0,
    doubtedAtMs: -Infinity,
    ejections: 0,
    ejectionsForOne: 0,
    outFor: null,
    othersTryToo: false,
    ejectedUntilMs: 0,
    coolingUntilMs: 0,
    outSinceMs: 0,
    cause: null,
    halfOpen: false,
    halfOpenAttempt: null,
    recoveredAtMs: 0,
    turnedAtMs: -Infinity,
    turnedForAllAtMs: -Infinity,
  }
}

/** Without an account: whether it is usable for every one. */
export function isUsable(health: Health, nowMs: number, account?: string): boolean {
  return nowMs >= usableFromMs(health, account)
}

/** When time alone makes it usable. */
export function usableFromMs(health: Health, account?: string): number {
  const { halfOpenAttempt, ejectedUntilMs, coolingUntilMs } = health
  const outUntilMs = isOutFor(health, account) ? ejectedUntilMs : 0
  const aloneUntilMs =
    halfOpenAttempt === null || !isHalfOpenFor(health, account) ? 0 : halfOpenAttempt.startedAtMs + HALF_OPEN_ALONE_MS
  return Math.max(outUntilMs, coolingUntilMs, aloneUntilMs)
}

/** True if the last ejection is for the account. */
function isOutFor({ outFor }: Health, account: string | undefined): boolean {
  return outFor === null || account === undefined || outFor === account
}

/** True if a request of the account would be a half-open attempt. */
export function isHalfOpenFor(health: Health, account: string | undefined): boolean {
  return health.halfOpen && (isOutFor(health, account) || health.othersTryToo)
}

/** An attempt starts. The first one after an ejection is half-open; one of the last resort, during the ejection, is not. */
export function afterStart(health: Health, attempt: Attempt): Health {
  const { startedAtMs, account } = attempt
  if (!isHalfOpenFor(health, account) || !isUsable(health, startedAtMs, account)) return health
  return { ...health, halfOpenAttempt: attempt }
}

/** The first content of an attempt proves that the target is back. */
export function afterContent(health: Health, attempt: Attempt, nowMs: number): Health {
  if (!health.halfOpen || isStaleEvent(health, attempt)) return health
  return {
    ...health,
    softFailures: [],
    consecutiveFailures: 0,
    outFor: null,
    othersTryToo: false,
    ejectedUntilMs: 0,
    halfOpen: false,
    halfOpenAttempt: null,
    recoveredAtMs: nowMs,
    turnedAtMs: attempt.startedAtMs,
    turnedForAllAtMs: attempt.startedAtMs,
  }
}

/** An attempt has ended well. */
export function afterSuccess(health: Health, attempt: Attempt, nowMs: number): Health {
  if (!health.halfOpen && health.consecutiveFailures === 0 && !hasEjections(health)) return health
  if (isStaleEvent(health, attempt)) return health
  const back = afterContent(health, attempt, nowMs)
  const forgiven = nowMs - back.recoveredAtMs > FORGIVEN_AFTER_MS
  if (back.consecutiveFailures === 0 && !(forgiven && hasEjections(back))) return back
  return {
    ...back,
    softFailures: [],
    consecutiveFailures: 0,
    ...(forgiven ? { ejections: 0, ejectionsForOne: 0 } : {}),
  }
}

function hasEjections({ ejections, ejectionsForOne }: Health): boolean {
  return ejections > 0 || ejectionsForOne > 0
}

/** `jitter` in [0, 1) spreads the returns of many routers. */
export function afterFailure(
  health: Health,
  attempt: Attempt,
  failure: AttributedFailure,
  nowMs: number,
  jitter: number,
): Health {
  if (failure.coolMs !== undefined) {
    return { ...health, coolingUntilMs: Math.max(health.coolingUntilMs, nowMs + failure.coolMs) }
  }
  const { account } = attempt
  // Requests that were under way at the ejection prove nothing new, nor do those of the last resort.
  if (isStaleFailure(health, attempt) || (isOutFor(health, account) && nowMs < health.ejectedUntilMs)) return health
  const ejection: Ejection = { nowMs, jitter, cause: failure.outcome }
  if (failure.weight === 'hard') return ejected(health, ejection)
  const softFailures = withFailure(health.softFailures, account, failure)
  const isSecondAccount = health.halfOpen && !isOutFor(health, account)
  const isEnough =
    health.halfOpenAttempt === attempt ||
    softFailures.length >= SOFT_FAILURES_IN_A_ROW ||
    (isSecondAccount && softFailures !== health.softFailures)
  if (!isEnough) {
    const consecutiveFailures = health.consecutiveFailures + 1
    const doubtedAtMs = consecutiveFailures >= SOFT_FAILURES_IN_A_ROW ? nowMs : health.doubtedAtMs
    return { ...health, softFailures, consecutiveFailures, doubtedAtMs }
  }
  const isOfOneAccount = new Set(softFailures.map((one) => one.account)).size === 1
  return isOfOneAccount ? ejectedForOne(health, { softFailures, account }, ejection) : ejected(health, ejection)
}

/** A request's repeats change nothing. */
function withFailure(failures: Health['softFailures'], account: string, { body, failsElsewhere }: AttributedFailure) {
  const isRepeat = failures.some((one) => one.body === body && (failsElsewhere || one.account === account))
  return isRepeat ? failures : [...failures, { account, body }].slice(-SOFT_FAILURES_IN_A_ROW)
}

/** An attempt is over, however it ended. After the half-open attempt the next one may start. */
export function afterEnd(health: Health, attempt: Attempt): Health {
  return health.halfOpenAttempt === attempt ? { ...health, halfOpenAttempt: null } : health
}

export type Change = 'ejected' | 'cooled' | 'none'

/** The effect of a failure. */
export function changeOf(before: Health, after: Health): Change {
  if (after.ejections > before.ejections || after.ejectionsForOne > before.ejectionsForOne) return 'ejected'
  return after.coolingUntilMs > before.coolingUntilMs ? 'cooled' : 'none'
}

/** `failing`: it responds, but with an error of its own. `unasked`: this process could not call it. */
export type Probed = 'alive' | 'failing' | 'dead' | 'unasked'

/** Repeats of one request are the failures: a probe finds out whether the target fails without it, too. */
export function isDoubted(health: Health, sinceMs: number): boolean {
  return !health.halfOpen && health.consecutiveFailures >= SOFT_FAILURES_IN_A_ROW && health.doubtedAtMs > sinceMs
}

/**
 * A probe found it dead when its interval was over: another, longer interval. A backend that responds may serve although
 * its probe fails, so at the longest interval a request decides. Attempts since the probe began outweigh it.
 */
export function afterProbe(health: Health, probe: Started, found: Probed, nowMs: number, jitter: number): Health {
  if (found === 'alive' || found === 'unasked' || health.halfOpenAttempt !== null || isStaleEvent(health, probe))
    return health
  if (!health.halfOpen && !isDoubted(health, -Infinity)) return health
  if (found === 'failing' && intervalMs(health.ejections - 1) >= LONGEST_EJECTION_MS) return health
  return ejected(health, { nowMs, jitter, cause: 'probe' })
}

type Started = Pick<Attempt, 'startedAtMs'>

interface Ejection {
  nowMs: number
  jitter: number
  cause: string
}

/** For all. */
function ejected(health: Health, ejection: Ejection): Health {
  return {
    ...health,
    ...out(health, health.ejections, ejection),
    softFailures: [],
    ejections: health.ejections + 1,
    outFor: null,
    othersTryToo: false,
    turnedForAllAtMs: ejection.nowMs,
  }
}

/** It keeps the failures: with that of a second account they put it out for all. */
function ejectedForOne(
  health: Health,
  { softFailures, account }: { softFailures: Health['softFailures']; account: string },
  ejection: Ejection,
): Health {
  return {
    ...health,
    softFailures,
    ...out(health, health.ejections + health.ejectionsForOne, ejection),
    ejectionsForOne: health.ejectionsForOne + 1,
    outFor: account,
    othersTryToo: health.halfOpen && (health.outFor === null || health.othersTryToo),
  }
}

function out({ halfOpen, outSinceMs }: Health, ejections: number, { nowMs, jitter, cause }: Ejection) {
  return {
    ejectedUntilMs: nowMs + intervalMs(ejections) * (1 + jitter * 0.2),
    outSinceMs: halfOpen ? outSinceMs : nowMs,
    cause,
    halfOpen: true,
    halfOpenAttempt: null,
    turnedAtMs: nowMs,
    consecutiveFailures: 0,
  }
}

function intervalMs(ejections: number): number {
  return Math.min(FIRST_EJECTION_MS * 2 ** ejections, LONGEST_EJECTION_MS)
}

function isStaleEvent(health: Health, attempt: Started): boolean {
  return attempt.startedAtMs < health.turnedAtMs
}

/** An ejection for one account makes no failure stale that others meet. */
function isStaleFailure(health: Health, { startedAtMs, account }: Attempt): boolean {
  const isConcerned = !health.halfOpen || isHalfOpenFor(health, account)
  return startedAtMs < (isConcerned ? health.turnedAtMs : health.turnedForAllAtMs)
}

/** Health goes by the process' own clock, operators by the wall's. */
export interface Clocks {
  /** The clock of ejections and coolings. */
  nowMs: number
  /** The same moment in milliseconds since 1970. */
  wallMs: number
}

/** An ejection outweighs a cooling; a half-open target is one whose ejection is over. */
export function viewHealth(health: Health, { nowMs, wallMs }: Clocks): HealthView {
  const wall = (atMs: number): number => Math.round(wallMs + atMs - nowMs)
  const ejection = { sinceMs: wall(health.outSinceMs), ...(health.cause !== null && { cause: health.cause }) }
  if (nowMs < health.ejectedUntilMs) return { state: 'ejected', untilMs: wall(health.ejectedUntilMs), ...ejection }
  if (nowMs < health.coolingUntilMs) return { state: 'cooling', untilMs: wall(health.coolingUntilMs) }
  return health.halfOpen ? { state: 'on_trial', untilMs: null, ...ejection } : { state: 'healthy', untilMs: null }
}
