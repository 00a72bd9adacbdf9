/**
 * The requests of some owners that reached a backend, by the backends' own log: proof that the gateway admitted them.
 */

import type { Seen } from '../clients/seen.ts'
import { rateOf } from '../stage/config.ts'
import type { Call, Facts } from './facts.ts'

export interface Reached {
  seen: Seen
  /** It was admitted after it was sent, and before its first call. */
  firstCallAtMs: number
  calls: readonly Call[]
}

export function reachedBy({ seen, calls }: Facts, owners: readonly string[], model: string | null): Reached[] {
  const byId = Map.groupBy(calls, ({ id }) => id)
  return seen
    .filter((one) => owners.includes(one.owner) && (model === null || one.model === model))
    .flatMap((one) => {
      const own = byId.get(one.id) ?? []
      if (own.length === 0) return []
      return [{ seen: one, firstCallAtMs: Math.min(...own.map(({ startedAtMs }) => startedAtMs)), calls: own }]
    })
    .toSorted((a, b) => a.firstCallAtMs - b.firstCallAtMs)
}

/** For a client with its whole response, its backend's count. For another, the prompt and the shown words. */
export function tokensOf({ seen, calls }: Reached): { promptTokens: number; completionTokens: number } {
  const completed = calls.findLast(({ outcome }) => outcome === 'completed')
  const prompt = Math.max(0, ...calls.map(({ usage }) => usage?.promptTokens ?? 0))
  if (seen.complete && completed?.usage) return completed.usage
  return { promptTokens: prompt, completionTokens: seen.words }
}

/** In the plan's smallest unit. */
export function chargeOf(reached: Reached, unit: 'tokens' | 'usd'): number {
  const { promptTokens, completionTokens } = tokensOf(reached)
  const rate = rateOf(reached.seen.model, unit)
  return promptTokens * rate.perPromptToken + completionTokens * rate.perCompletionToken
}
