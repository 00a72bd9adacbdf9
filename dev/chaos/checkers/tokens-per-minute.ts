/**
 * Tokens per minute hold for those who hang up as for those who read to the end.
 *
 * The limit is a bucket: a full one and a minute's refill may pass in 60 s. A response that runs when it is empty may
 * be longer than was reserved for it. The checker counts the text that clients were shown and the tokens of their
 * prompts, by the backends' log.
 */

import { capFor } from '../clients/question.ts'
import { GUSHER_TOKENS_PER_MINUTE, SMALL_WORDS } from '../plan/owners.ts'
import type { Violation, Facts, Verdict } from './facts.ts'
import { timesTheLimit } from './limits.ts'

const MINUTE_MS = 60_000
/** Responses that run at once when the bucket is empty, and the tokens that each may have beyond its reservation. */
const BEYOND_TOKENS = 4 * capFor(10 * SMALL_WORDS)

interface Spent {
  id: string
  atMs: number
  tokens: number
}

export function checkTokensPerMinute(facts: Facts): Verdict {
  const spent = spentByGushers(facts)
  return {
    invariant: 'no more tokens in any 60 seconds than the bucket lets pass, however an answer ends',
    checked: spent.length,
    violations: spent.flatMap(({ atMs }): Violation[] => {
      const within = spent.filter((other) => other.atMs > atMs - MINUTE_MS && other.atMs <= atMs)
      const tokens = within.reduce((sum, one) => sum + one.tokens, 0)
      const most = 2 * GUSHER_TOKENS_PER_MINUTE * timesTheLimit(facts, atMs - MINUTE_MS, atMs) + BEYOND_TOKENS
      if (tokens <= most) return []
      return [
        { requests: within.map(({ id }) => id), what: `${tokens} tokens passed within 60 s; at most ${most} may` },
      ]
    }),
  }
}

function spentByGushers({ seen, calls }: Facts): Spent[] {
  const shown = new Map(seen.filter(({ owner }) => owner === 'gusher').map(({ id, words }) => [id, words]))
  // A request that was dispatched again was admitted once.
  const own = calls.filter(({ id }) => shown.has(id)).toSorted((a, b) => b.startedAtMs - a.startedAtMs)
  const first = new Map(own.map((call) => [call.id, call]))
  return [...first.values()].map(({ id, startedAtMs, usage }) => ({
    id,
    atMs: startedAtMs,
    tokens: shown.get(id)! + (usage?.promptTokens ?? 0),
  }))
}
