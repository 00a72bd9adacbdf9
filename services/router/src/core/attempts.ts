/**
 * The attempts of a request: which target of a pool gets the next one, how long it may be silent, and how many repeats
 * follow.
 *
 * Trying each distinct target once is free. Repeats may add a tenth to a pool's load, so that a failing set of backends is not
 * buried under its own retries.
 */

import { hash32 } from './hash32.ts'

export interface Candidate {
  /** Stable name: backend and model. */
  key: string
  priority: number
  weight: number
  /** Requests that the target's backend is working on. */
  outstanding: number
  full: boolean
  usable: boolean
  /** The same request has failed there of late, several times in a row. */
  avoided: boolean
  fitsPrompt: boolean
  /** It speaks the client's dialect: nothing is lost by a translation. */
  isNative: boolean
}

export type Choice<T> =
  | { kind: 'target'; target: T; /** Alternatives of the same rank that remain, this one included. */ untried: number }
  /** The ones to try next are all at their limit: wait for a slot at any of these. */
  | { kind: 'wait'; targets: T[] }
  | { kind: 'none' }

/** Bounded-load affinity: a conversation leaves its target when that one has this much more than its share. */
const AFFINITY_OVERLOAD = 1.5

/**
 * Offers every distinct target once. Ties fall by weight. The criteria, in order:
 *
 * - targets that can hold the prompt before those that probably cannot;
 * - usable targets before ejected ones, which come last rather than never;
 * - targets where the same request has not failed of late;
 * - the lower priority number;
 * - targets that speak the client's dialect before those that need a translation;
 * - the conversation's own target (affinity), or else the one with the least outstanding work for its weight.
 */
export function chooseTarget<T extends Candidate>(
  untried: readonly T[],
  options: { affinityKey?: string | undefined; random: () => number },
): Choice<T> {
  const rank = bestRank(untried)
  if (rank.length === 0) return { kind: 'none' }
  const free = rank.filter((candidate) => !candidate.full)
  if (free.length === 0) return { kind: 'wait', targets: rank }
  const preferred = free.filter((candidate) => !candidate.avoided)
  const willing = preferred.length > 0 ? preferred : free
  const priority = Math.min(...willing.map((candidate) => candidate.priority))
  const prior = willing.filter((candidate) => candidate.priority === priority)
  const native = prior.filter((candidate) => candidate.isNative)
  const tier = native.length > 0 ? native : prior
  const target =
    options.affinityKey === undefined
      ? leastLoaded(tier, options.random)
      : keeperOf(options.affinityKey, tier, options.random)
  return { kind: 'target', target, untried: rank.length }
}

function bestRank<T extends Candidate>(candidates: readonly T[]): T[] {
  let best = Infinity
  for (const candidate of candidates) best = Math.min(best, rankOf(candidate))
  return candidates.filter((candidate) => rankOf(candidate) === best)
}

function rankOf(candidate: Candidate): number {
  return (candidate.fitsPrompt ? 0 : 2) + (candidate.usable ? 0 : 1)
}

function leastLoaded<T extends Candidate>(tier: readonly T[], random: () => number): T {
  const least = Math.min(...tier.map(load))
  const tied = tier.filter((candidate) => load(candidate) === least)
  if (tied.length === 1) return tied[0]!
  const total = tied.reduce((sum, candidate) => sum + candidate.weight, 0)
  let point = random() * total
  return tied.find((candidate) => (point -= candidate.weight) < 0) ?? tied.at(-1)!
}

function load(candidate: Candidate): number {
  return candidate.outstanding / candidate.weight
}

/** The target that holds this conversation's prefix cache: rendezvous hashing, so a lost target moves only its own. */
function keeperOf<T extends Candidate>(affinityKey: string, tier: readonly T[], random: () => number): T {
  const totalWork = tier.reduce((sum, candidate) => sum + candidate.outstanding, 0) + 1
  const totalWeight = tier.reduce((sum, candidate) => sum + candidate.weight, 0)
  const withinShare = tier.filter((candidate) => {
    return candidate.outstanding <= AFFINITY_OVERLOAD * Math.ceil((totalWork * candidate.weight) / totalWeight)
  })
  if (withinShare.length === 0) return leastLoaded(tier, random)
  return withinShare.reduce((best, candidate) =>
    rendezvousScore(affinityKey, candidate) > rendezvousScore(affinityKey, best) ? candidate : best,
  )
}

/** Weighted rendezvous: a target wins a share of keys proportional to its weight. */
function rendezvousScore(affinityKey: string, candidate: Candidate): number {
  const uniform = (hash32(`${affinityKey}\n${candidate.key}`) + 0.5) / 2 ** 32
  return -candidate.weight / Math.log(uniform)
}

/**
 * Until the first content (for a plain response: until its end) nobody can distinguish a hung backend from a busy one.
 * So silence ends an attempt only while another target would take the request. Where there is none, giving up can only
 * lose, and the request's time alone bounds it. A stream that has begun has no other target; there silence is the end.
 */
export interface TimeoutPolicy {
  /** A stream begins with its first content, a plain response with its first byte. */
  stream: boolean
  /** This attempt's part of the request's time, where that is shorter than `firstByteMs`. */
  shareMs: number
  /** True if another target is usable and has a slot, at this moment. */
  othersLeft(): boolean
}

/** The policy of calls that no client waits for. */
export const NO_TIMEOUTS: TimeoutPolicy = { stream: false, shareMs: Infinity, othersLeft: () => true }

export function endsAttempt(
  silence: 'first_byte_timeout' | 'idle_timeout',
  timeoutPolicy: Pick<TimeoutPolicy, 'stream' | 'othersLeft'>,
): boolean {
  return (timeoutPolicy.stream && silence === 'idle_timeout') || timeoutPolicy.othersLeft()
}

/**
 * A target that the router left waiting is at fault only where another one was faster with the same request. When the
 * whole pool is slow, no target is at fault.
 */
export function wasFaster(tookMs: number, leftAfterMs: number): boolean {
  return tookMs < leftAfterMs
}

/**
 * The share of one attempt, so that a hanging target never uses up the time of others. It is the remaining time,
 * divided among the targets not yet tried (this one included). The last one gets all of it.
 */
export function attemptBudgetMs(remainingMs: number, untriedTargets: number): number {
  return Math.max(0, remainingMs) / Math.max(1, untriedTargets)
}

/** The repeats that a pool may spend. */
export interface RetryBudget {
  tokens: number
}

const EARNED_PER_REQUEST = 0.1
const MOST_TOKENS = 10
export const MAX_REPEATS_PER_REQUEST = 2
const FIRST_PAUSE_MS = 50
/** A backend's own retry-after is waited for when it is at most this long. */
const LONGEST_PAUSE_MS = 5_000

export function newRetryBudget(): RetryBudget {
  return { tokens: MOST_TOKENS }
}

export function earn(budget: RetryBudget): RetryBudget {
  return { tokens: Math.min(MOST_TOKENS, budget.tokens + EARNED_PER_REQUEST) }
}

/** The budget after one repeat, or null when it has none to give. */
export function spend(budget: RetryBudget): RetryBudget | null {
  return budget.tokens >= 1 ? { tokens: budget.tokens - 1 } : null
}

/**
 * The pause before a repeat, or null when the pause is not worth it. A pause may take at most half of the remaining
 * time. A backend that requests a longer pause than a request should wait gets no repeat.
 */
export function pauseBeforeRepeat(options: {
  repeats: number
  retryAfterMs: number | undefined
  remainingMs: number
  random: number
}): number | null {
  const backoff = FIRST_PAUSE_MS * 2 ** options.repeats * (0.5 + options.random)
  const pauseMs = Math.max(backoff, options.retryAfterMs ?? 0)
  return pauseMs <= LONGEST_PAUSE_MS && pauseMs <= options.remainingMs / 2 ? pauseMs : null
}
