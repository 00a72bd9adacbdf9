/**
 * A target's memory of refused features. A refusal says something of requests like the refused one alone, since clients
 * choose their flags and may leave one out that a member needs.
 *
 * Flags that were refused together hold for a request with all of them. A member that was refused holds for a request
 * with no other flags than those that went with it. So no client takes a feature from another's requests.
 */

import { flagsOf, FLAG, NO_FEATURES, type FeatureRefusal, type RefusedFeatures } from './refused-features.ts'

interface Remembered extends FeatureRefusal {
  untilMs: number
}

/** By the features and flags. The oldest first. */
export type FeatureMemory = Map<string, Remembered>

/** A client can invent flags, so a target's memory is bounded. */
const MOST_REMEMBERED = 64
const MOST_FLAGS = 64

export function remember(memory: FeatureMemory, refusals: readonly FeatureRefusal[], untilMs: number): void {
  for (const { member, flags } of refusals) {
    if (flags.length > MOST_FLAGS) continue
    if (memory.size >= MOST_REMEMBERED) memory.delete(memory.keys().next().value!)
    memory.set(JSON.stringify([member, ...flags.toSorted()]), { member, flags, untilMs })
  }
}

/** The features that the target would refuse of a request with these flags of `anthropic-beta`. */
export function refusedOf(memory: FeatureMemory, beta: string | undefined, nowMs: number): RefusedFeatures {
  if (memory.size === 0) return NO_FEATURES
  for (const [name, { untilMs }] of memory) if (untilMs <= nowMs) memory.delete(name)
  const refusals = [...memory.values()]
  const refused = new Set<string>()
  const sent = new Set(flagsOf(beta))
  for (const { member, flags } of refusals)
    if (member === undefined && flags.every((flag) => sent.has(flag)))
      for (const flag of flags) refused.add(FLAG + flag)
  const left = [...sent].filter((flag) => !refused.has(FLAG + flag))
  for (const { member, flags } of refusals)
    if (member !== undefined && left.every((flag) => flags.includes(flag))) refused.add(member)
  return refused
}
