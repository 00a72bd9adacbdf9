/**
 * Which target of a pool gets the next attempt.
 *
 * Every distinct target is offered once. Order: those that can hold the prompt before those that probably cannot,
 * usable ones before ejected ones (which come last rather than never), lower priority number first, those that speak the
 * client's dialect before those that need a translation, then either the conversation's own target (affinity) or the one
 * with the least outstanding work for its weight; ties fall by weight.
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
  fitsPrompt: boolean
  /** It speaks the client's dialect: nothing is lost by a translation. */
  isNative: boolean
}

export type Choice<T> =
  | { kind: 'target'; target: T; /** Alternatives of the same rank that remain, this one included. */ untried: number }
  /** The ones to try next are all at their limit: wait for a place at any of these. */
  | { kind: 'wait'; targets: T[] }
  | { kind: 'none' }

/** Bounded-load affinity: a conversation leaves its target when that one has this much more than its share. */
const AFFINITY_OVERLOAD = 1.5

export function chooseTarget<T extends Candidate>(
  untried: readonly T[],
  options: { affinityKey?: string | undefined; random: () => number },
): Choice<T> {
  const rank = bestRank(untried)
  if (rank.length === 0) return { kind: 'none' }
  const free = rank.filter((candidate) => !candidate.full)
  if (free.length === 0) return { kind: 'wait', targets: rank }
  const priority = Math.min(...free.map((candidate) => candidate.priority))
  const prior = free.filter((candidate) => candidate.priority === priority)
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
