/**
 * The health of one backend, or of one model on it, learnt from the traffic itself.
 *
 * healthy ──faults──> ejected ──interval over──> on trial ──first content──> healthy
 *                        ^───────────fault──────────┘  (with twice the interval)
 *
 * A 429 cools instead: out of the choice for as long as the backend asked, without a mark. A target on trial takes one
 * request at a time, and a further one after five seconds of silence: a plain answer may take minutes. The attempt that
 * holds the trial is named, so no other attempt can end it or keep it. An attempt that began before the last ejection or
 * recovery says nothing about the target as it is now.
 * Values in, values out; the clock is an argument.
 */

import type { HealthView } from '@gateway/contracts/routers-api'
import type { Blame } from './backend-fault.ts'

/** One attempt; a trial knows its own by identity. */
export interface Attempt {
  readonly startedAtMs: number
}

export interface Health {
  /** Soft faults in a row. */
  faultsInARow: number
  /** Ejections without a recovery that lasted; each doubles the next interval. */
  ejections: number
  /** Out of the choice until then; 0 when it never was. */
  ejectedUntilMs: number
  coolingUntilMs: number
  /** Back on trial since its last ejection, until a request has content. */
  onTrial: boolean
  /** The newest attempt that holds the trial. */
  trial: Attempt | null
  recoveredAtMs: number
  /** Of the last ejection, or the start of the attempt that proved the last recovery. Older attempts are old news. */
  turnedAtMs: number
}

const SOFT_FAULTS_IN_A_ROW = 3
const FIRST_EJECTION_MS = 1_000
const LONGEST_EJECTION_MS = 60_000
const TRIAL_ALONE_MS = 5_000
/** This long without a fault forgets earlier ejections. */
const FORGIVEN_AFTER_MS = 60_000

export function newHealth(): Health {
  return {
    faultsInARow: 0,
    ejections: 0,
    ejectedUntilMs: 0,
    coolingUntilMs: 0,
    onTrial: false,
    trial: null,
    recoveredAtMs: 0,
    turnedAtMs: -Infinity,
  }
}

export function isUsable(health: Health, nowMs: number): boolean {
  return nowMs >= usableFromMs(health)
}

/** When time alone makes it usable. */
export function usableFromMs({ trial, ejectedUntilMs, coolingUntilMs }: Health): number {
  const aloneUntilMs = trial === null ? 0 : trial.startedAtMs + TRIAL_ALONE_MS
  return Math.max(ejectedUntilMs, coolingUntilMs, aloneUntilMs)
}

/** An attempt starts. On trial it goes first; one that comes as the last resort, earlier, is no trial. */
export function afterStart(health: Health, attempt: Attempt): Health {
  return health.onTrial && isUsable(health, attempt.startedAtMs) ? { ...health, trial: attempt } : health
}

/** The first content of an attempt proves that the target is back. */
export function afterContent(health: Health, attempt: Attempt, nowMs: number): Health {
  if (!health.onTrial || isOldNews(health, attempt)) return health
  return {
    ...health,
    faultsInARow: 0,
    ejectedUntilMs: 0,
    onTrial: false,
    trial: null,
    recoveredAtMs: nowMs,
    turnedAtMs: attempt.startedAtMs,
  }
}

/** An attempt has ended well. */
export function afterSuccess(health: Health, attempt: Attempt, nowMs: number): Health {
  if (!health.onTrial && health.faultsInARow === 0 && health.ejections === 0) return health
  if (isOldNews(health, attempt)) return health
  const back = afterContent(health, attempt, nowMs)
  const forgiven = nowMs - back.recoveredAtMs > FORGIVEN_AFTER_MS
  if (back.faultsInARow === 0 && !(forgiven && back.ejections > 0)) return back
  return { ...back, faultsInARow: 0, ejections: forgiven ? 0 : back.ejections }
}

/** `jitter` in [0, 1) spreads the returns of many routers. */
export function afterFault(health: Health, attempt: Attempt, blame: Blame, nowMs: number, jitter: number): Health {
  if (blame.coolMs !== undefined) {
    return { ...health, coolingUntilMs: Math.max(health.coolingUntilMs, nowMs + blame.coolMs) }
  }
  // Requests that were under way when it was ejected tell nothing new, nor do those of the last resort.
  if (isOldNews(health, attempt) || nowMs < health.ejectedUntilMs) return health
  const faultsInARow = health.faultsInARow + 1
  const isTrial = health.trial === attempt
  const ejects = blame.weight === 'hard' || isTrial || faultsInARow >= SOFT_FAULTS_IN_A_ROW
  return ejects ? ejected(health, nowMs, jitter) : { ...health, faultsInARow }
}

/** An attempt is over, however it ended: a trial of its own is, too. */
export function afterEnd(health: Health, attempt: Attempt): Health {
  return health.trial === attempt ? { ...health, trial: null } : health
}

export type Change = 'ejected' | 'cooled' | 'none'

/** The effect of a fault. */
export function changeOf(before: Health, after: Health): Change {
  if (after.ejections > before.ejections) return 'ejected'
  return after.coolingUntilMs > before.coolingUntilMs ? 'cooled' : 'none'
}

/** `failing`: it answers, but with an error of its own. `unasked`: this process could not ask it. */
export type Probed = 'alive' | 'failing' | 'dead' | 'unasked'

/**
 * A probe found it dead when its interval was over: another, longer interval. A backend that answers may serve although
 * its probe fails, so at the longest interval a request decides. Attempts since the probe began outweigh it.
 */
export function afterProbe(health: Health, probe: Attempt, found: Probed, nowMs: number, jitter: number): Health {
  if (found === 'alive' || found === 'unasked' || !health.onTrial || health.trial !== null || isOldNews(health, probe))
    return health
  if (found === 'failing' && intervalMs(health.ejections - 1) >= LONGEST_EJECTION_MS) return health
  return ejected(health, nowMs, jitter)
}

function ejected(health: Health, nowMs: number, jitter: number): Health {
  return {
    ...health,
    faultsInARow: 0,
    ejections: health.ejections + 1,
    ejectedUntilMs: nowMs + intervalMs(health.ejections) * (1 + jitter * 0.2),
    onTrial: true,
    trial: null,
    turnedAtMs: nowMs,
  }
}

function intervalMs(ejections: number): number {
  return Math.min(FIRST_EJECTION_MS * 2 ** ejections, LONGEST_EJECTION_MS)
}

function isOldNews(health: Health, attempt: Attempt): boolean {
  return attempt.startedAtMs < health.turnedAtMs
}

/** Health goes by the process' own clock, operators by the wall's. */
export interface Clocks {
  /** The clock of ejections and coolings. */
  nowMs: number
  /** The same moment in milliseconds since 1970. */
  wallMs: number
}

/** An ejection outweighs a cooling; a target on trial is one whose ejection is over. */
export function viewHealth(health: Health, { nowMs, wallMs }: Clocks): HealthView {
  const until = (atMs: number): number => Math.round(wallMs + atMs - nowMs)
  if (nowMs < health.ejectedUntilMs) return { state: 'ejected', untilMs: until(health.ejectedUntilMs) }
  if (nowMs < health.coolingUntilMs) return { state: 'cooling', untilMs: until(health.coolingUntilMs) }
  return { state: health.onTrial ? 'on_trial' : 'healthy', untilMs: null }
}
