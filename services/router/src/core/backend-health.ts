/**
 * The health of one backend, or of one model on it, learnt from the traffic itself.
 *
 * healthy ──faults──> ejected ──interval over──> on trial ──success──> healthy
 *                        ^───────────fault──────────┘  (with twice the interval)
 *
 * A 429 cools instead: out of the choice for as long as the backend asked, without a mark. A target on trial takes one
 * request at a time. Values in, values out; the clock is an argument.
 */

import type { Blame } from './backend-fault.ts'

export interface Health {
  /** Soft faults in a row. */
  faultsInARow: number
  /** Ejections without a recovery that lasted; each doubles the next interval. */
  ejections: number
  /** Out of the choice until then; 0 when it never was. */
  ejectedUntil: number
  coolingUntil: number
  /** Back on trial since its last ejection: one request at a time until one succeeds. */
  onTrial: boolean
  trialRunning: boolean
  recoveredAt: number
}

const SOFT_FAULTS_IN_A_ROW = 3
const FIRST_EJECTION_MS = 1_000
const LONGEST_EJECTION_MS = 60_000
/** This long without a fault forgets earlier ejections. */
const FORGIVEN_AFTER_MS = 60_000

export function newHealth(): Health {
  return {
    faultsInARow: 0,
    ejections: 0,
    ejectedUntil: 0,
    coolingUntil: 0,
    onTrial: false,
    trialRunning: false,
    recoveredAt: 0,
  }
}

export function isUsable(health: Health, now: number): boolean {
  if (now < health.ejectedUntil || now < health.coolingUntil) return false
  return !health.trialRunning
}

/** An attempt starts: on trial, it is the only one until it ends. */
export function afterStart(health: Health): Health {
  return health.onTrial ? { ...health, trialRunning: true } : health
}

export function afterSuccess(health: Health, now: number): Health {
  if (!health.onTrial && health.faultsInARow === 0 && health.ejections === 0) return health
  const recoveredAt = health.onTrial ? now : health.recoveredAt
  const forgiven = now - recoveredAt > FORGIVEN_AFTER_MS
  return {
    ...health,
    faultsInARow: 0,
    ejections: forgiven ? 0 : health.ejections,
    ejectedUntil: 0,
    onTrial: false,
    trialRunning: false,
    recoveredAt,
  }
}

/** `jitter` in [0, 1) spreads the returns of many routers. */
export function afterFault(health: Health, blame: Blame, now: number, jitter: number): Health {
  if (blame.coolMs !== undefined) {
    return { ...health, coolingUntil: Math.max(health.coolingUntil, now + blame.coolMs), trialRunning: false }
  }
  const faultsInARow = health.faultsInARow + 1
  const ejects = blame.weight === 'hard' || health.onTrial || faultsInARow >= SOFT_FAULTS_IN_A_ROW
  if (!ejects) return { ...health, faultsInARow }
  // Requests that were under way when it was ejected tell nothing new.
  if (now < health.ejectedUntil) return { ...health, faultsInARow }
  const interval = Math.min(FIRST_EJECTION_MS * 2 ** health.ejections, LONGEST_EJECTION_MS) * (1 + jitter * 0.2)
  return {
    ...health,
    faultsInARow: 0,
    ejections: health.ejections + 1,
    ejectedUntil: now + interval,
    onTrial: true,
    trialRunning: false,
  }
}

/** An attempt ended and proved nothing (the client went away, the request itself was wrong). */
export function afterNothing(health: Health): Health {
  return health.trialRunning ? { ...health, trialRunning: false } : health
}

export type Change = 'ejected' | 'cooled' | 'none'

/** What a fault has led to. */
export function changeOf(before: Health, after: Health): Change {
  if (after.ejections > before.ejections) return 'ejected'
  return after.coolingUntil > before.coolingUntil ? 'cooled' : 'none'
}

/** A probe found it dead when its interval was over: another, longer interval. */
export function afterFailedProbe(health: Health, now: number, jitter: number): Health {
  return afterFault({ ...health, ejectedUntil: 0 }, { on: 'backend', weight: 'hard' }, now, jitter)
}
