/**
 * Shares the event loop's time among senders. Every sender owes the time that it took, and pays back at the rate of one
 * share. A sender that owes more than a moment's work has taken more than its share. It waits until it owes less.
 *
 * A sender is an account, or a network while nobody has proven a key and for guests. A sender that owes nothing is forgotten.
 * Pure: the clock is an argument.
 */

/** Of the time that passes. */
export const SHARE = 1 / 8
/** So much at once is no burden: one large body, or a turn of small ones. */
export const MOMENT_MS = 40
/** Nobody is made to owe more than a few seconds of waiting. */
const MOST_OWED_MS = 1_000
/** Beyond so many those are forgotten that have worked least lately. */
const MOST_SENDERS = 10_000

interface Owed {
  ms: number
  atMs: number
}

/** In the order in which they took last. */
export type CpuShares = Map<string, Owed>

export function createCpuShares(): CpuShares {
  return new Map()
}

function owedBy(shares: CpuShares, sender: string, nowMs: number): number {
  const owed = shares.get(sender)
  return owed === undefined ? 0 : Math.max(0, owed.ms - (nowMs - owed.atMs) * SHARE)
}

export function took(shares: CpuShares, sender: string, ms: number, nowMs: number): void {
  const owed = Math.min(MOST_OWED_MS, owedBy(shares, sender, nowMs) + ms)
  shares.delete(sender)
  if (owed <= 0) return
  shares.set(sender, { ms: owed, atMs: nowMs })
  if (shares.size > MOST_SENDERS) shares.delete(shares.keys().next().value!)
}

/** The work was another sender's: its key is proven now. */
export function tookFor(shares: CpuShares, from: string, to: string, ms: number, nowMs: number): void {
  took(shares, from, -ms, nowMs)
  took(shares, to, ms, nowMs)
}

/** The time until the sender is within its share; 0 where it is now. */
export function waitFor(shares: CpuShares, sender: string, nowMs: number): number {
  return Math.max(0, owedBy(shares, sender, nowMs) - MOMENT_MS) / SHARE
}
