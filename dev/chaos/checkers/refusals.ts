/**
 * A refusal of a project's key names a limit that is there, by `error.scope` and its type. The requests that may count against
 * that limit fill it.
 */

import { capFor } from '../clients/question.ts'
import type { LimitFact } from '../clients/limit-log.ts'
import type { Seen } from '../clients/seen.ts'
import { isPerson, SMALL_WORDS } from '../plan/owners.ts'
import { rateOf } from '../stage/config.ts'
import { wasItsEdgeAlone } from './alone.ts'
import type { Facts, Verdict } from './facts.ts'
import { lossesOfRates } from './losses.ts'
import { lowest, nameOfLimit, WORST_TOKENS } from './project-limits.ts'
import { chargeOf, reachedBy } from './reached.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const EDGES = 2
/** A lease lapses so long after its edge is gone; until then it holds its worst case. */
const HELD_AFTER_MS = 35_000
/** The gateway's bound of a prompt has so much for the text that a backend's own template adds. */
const TOKENS_AROUND = 1_600

export function checkRefusals(facts: Facts): Verdict {
  const kinds = new Map(facts.owners.map(({ name, kind }) => [name, kind]))
  const refused = facts.seen.filter(({ owner, problem }) => {
    const kind = kinds.get(owner)
    return kind !== undefined && !isPerson(kind) && problem !== null && /^4(29|02) /.test(problem)
  })
  return {
    invariant: 'a refusal names a limit that is there, and is used up',
    checked: refused.length,
    violations: refused.flatMap((seen) => {
      const fault = faultOf(facts, seen)
      return fault === null ? [] : [{ requests: [`${seen.id} ${seen.requestId}`], what: `${seen.owner}: ${fault}` }]
    }),
  }
}

const REASONS: Record<string, LimitFact['reason']> = {
  '429 requests': 'requests',
  '429 tokens': 'tokens',
  '429 day': 'day',
  '429 pending': 'allowance',
  '402 quota_exceeded': 'allowance',
}

function faultOf(facts: Facts, seen: Seen): string | null {
  const { problem, scope, model, owner } = seen
  const { limits, lists } = facts.administration!
  const named = `${problem} of the ${scope}`
  if (problem === '429 plan_limit') {
    const list = lists.find((one) => one.scope === scope && one.owners.includes(owner))
    if (!list) return `${named}, which has no list`
    return list.models.includes(model) ? `${named}, whose list has ${model}` : null
  }
  const limit = limits.find((one) => {
    const isIts = one.scope === scope && one.owners.includes(owner) && (one.model === null || one.model === model)
    return isIts && one.reason === REASONS[problem!]
  })
  if (!limit) return `${named}, which has no such limit`
  return isFree(facts, limit, seen) ? `${named}, although it is not used up: ${nameOfLimit(limit)}` : null
}

function isFree(facts: Facts, limit: LimitFact, seen: Seen): boolean {
  const isForgotten = lossesOfRates(facts).some(({ fromMs, toMs }) => fromMs < seen.endedAtMs && toMs > seen.sentAtMs)
  if (isForgotten) return false
  const share = wasItsEdgeAlone(facts, seen) && limit.reason !== 'allowance' ? EDGES : 1
  const value = Math.floor(lowest(limit, seen.sentAtMs - MINUTE_MS, seen.endedAtMs) / share)
  const counted = mayCount(facts, limit).filter((other) => other !== seen && other.sentAtMs <= seen.endedAtMs)
  switch (limit.reason) {
    case 'requests':
      return counted.filter(({ endedAtMs }) => endedAtMs >= seen.sentAtMs - MINUTE_MS).length < value
    case 'day':
      return counted.filter(({ endedAtMs }) => dayOf(endedAtMs) >= dayOf(seen.sentAtMs)).length < value
    case 'tokens':
      return lowestLevel(counted, seen, value) >= Math.min(mostReserved(seen), value)
    case 'allowance':
      return mostHeld(facts, limit, counted, seen) * (wasItsEdgeAlone(facts, seen) ? EDGES : 1) < value
  }
}

/** The gateway may have admitted them: it did not surely refuse them. */
function mayCount({ seen }: Facts, { owners, model }: LimitFact): Seen[] {
  return seen.filter(
    ({ owner, model: of, status }) =>
      owners.includes(owner) && (model === null || of === model) && !(status !== null && status >= 400 && status < 500),
  )
}

const dayOf = (ms: number) => Math.floor(ms / DAY_MS)
const mostReserved = ({ words }: Seen) => WORST_TOKENS + capFor(Math.max(0, words - SMALL_WORDS))

/** The lowest level that the bucket can have: from any moment on, all that may have been taken since, and the refill. */
function lowestLevel(counted: readonly Seen[], { sentAtMs }: Seen, perMinute: number): number {
  const byEnd = counted.toSorted((a, b) => b.endedAtMs - a.endedAtMs)
  let taken = 0
  let level = perMinute
  for (const one of byEnd) {
    taken += mostReserved(one)
    const refilled = (Math.max(0, sentAtMs - one.endedAtMs) / MINUTE_MS) * perMinute
    level = Math.min(level, perMinute - taken + refilled)
  }
  return level
}

/** A request that has surely ended well costs its backend's count, any other one its worst case. */
function mostHeld(facts: Facts, limit: LimitFact, counted: readonly Seen[], { sentAtMs }: Seen): number {
  const charges = new Map(
    reachedBy(facts, limit.owners, limit.model).map((one) => [one.seen, chargeOf(one, limit.unit)] as const),
  )
  return counted.reduce((sum, one) => {
    const isOver = one.complete && one.endedAtMs < sentAtMs - HELD_AFTER_MS
    return sum + (isOver ? (charges.get(one) ?? 0) : mostHeldByOne(limit))
  }, 0)
}

function mostHeldByOne({ unit }: LimitFact): number {
  return (WORST_TOKENS + TOKENS_AROUND) * rateOf('chat-dear', unit).perCompletionToken
}
