/**
 * Limits of keys, of models and of projects hold by the backends' own counts. No minute, day or month sees more than its limit,
 * and no key calls a model that its list leaves out.
 *
 * As for accounts (`limits.ts`), only requests that were surely admitted within a window are held against its limit. A limit
 * that changes counts with the highest value that it may have had then. A store that forgets lets the limit pass once more.
 */

import { capFor } from '../clients/question.ts'
import type { LimitFact, ListFact } from '../clients/limit-log.ts'
import { SMALL_WORDS } from '../plan/owners.ts'
import { rateOf } from '../stage/config.ts'
import { wasAnyAlone } from './alone.ts'
import type { Facts, Verdict, Violation } from './facts.ts'
import { timesTheLimit } from './limits.ts'
import { lossesOfRates } from './losses.ts'
import { chargeOf, type Reached, reachedBy, tokensOf } from './reached.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** A byte a token is the gateway's bound for prompts: the frame around the words, and the words. */
export const WORST_TOKENS = capFor(SMALL_WORDS) + 24 + 7 * SMALL_WORDS
/** The oldest total that an edge alone goes by, and the time to get there and back. */
const TOTAL_AGE_MS = 6_000

export function checkProjectLimits(facts: Facts): Verdict[] {
  const { limits = [], lists = [] } = facts.administration ?? {}
  const held = limits.map((limit) => ({ limit, reached: reachedBy(facts, limit.owners, limit.model) }))
  const listed = lists.map((list) => ({ list, reached: reachedBy(facts, list.owners, null) }))
  return [
    {
      invariant: 'no key, model or project gets more than its limit, by the backends’ own counts',
      checked: held.reduce((sum, { reached }) => sum + reached.length, 0),
      violations: held.flatMap(({ limit, reached }) => CHECKS[limit.reason](facts, limit, reached)),
    },
    {
      invariant: 'no key calls a model that its list leaves out',
      checked: listed.reduce((sum, { reached }) => sum + reached.length, 0),
      violations: listed.flatMap(({ list, reached }) => checkList(list, reached)),
    },
  ]
}

type Check = (facts: Facts, limit: LimitFact, reached: readonly Reached[]) => Violation[]

const CHECKS: Record<LimitFact['reason'], Check> = {
  requests: (facts, limit, reached) =>
    firstViolation(reached, (last) => {
      const fromMs = last.firstCallAtMs - MINUTE_MS
      const within = reached.filter(
        ({ seen, firstCallAtMs }) => seen.sentAtMs > fromMs && firstCallAtMs <= last.firstCallAtMs,
      )
      const most = highest(limit, fromMs, last.firstCallAtMs) * timesTheLimit(facts, fromMs, last.firstCallAtMs)
      return within.length > most
        ? violationOf(limit, within, `${within.length} requests within 60 s; at most ${most}`)
        : null
    }),

  // A bucket: a full one and a minute's refill. The last to pass may be longer than its reservation.
  tokens: (facts, limit, reached) =>
    firstViolation(reached, (last) => {
      const fromMs = last.firstCallAtMs - MINUTE_MS
      const within = reached.filter(
        ({ seen, firstCallAtMs }) => seen.sentAtMs > fromMs && firstCallAtMs <= last.firstCallAtMs,
      )
      const tokens = within.reduce((sum, one) => sum + tokensOf(one).promptTokens + tokensOf(one).completionTokens, 0)
      const times = timesTheLimit(facts, fromMs, last.firstCallAtMs)
      const most = 2 * highest(limit, fromMs, last.firstCallAtMs) * times + WORST_TOKENS
      return tokens > most ? violationOf(limit, within, `${tokens} tokens within 60 s; at most ${most}`) : null
    }),

  day: (facts, limit, reached) => {
    const days = Map.groupBy(reached, ({ firstCallAtMs }) => Math.floor(firstCallAtMs / DAY_MS))
    return [...days].flatMap(([day, ofDay]) => {
      const within = ofDay.filter(({ seen }) => Math.floor(seen.sentAtMs / DAY_MS) === day)
      const untilMs = Math.max(...ofDay.map(({ firstCallAtMs }) => firstCallAtMs))
      const most = highest(limit, day * DAY_MS, untilMs) * timesTheLimit(facts, day * DAY_MS, untilMs)
      return within.length > most
        ? [violationOf(limit, within, `${within.length} requests in a day; at most ${most}`)]
        : []
    })
  },

  allowance: (facts, limit, reached) => {
    const isOfOneAlone = reached.some(({ seen }) => wasAnyAlone(facts, seen.sentAtMs, seen.headAtMs ?? seen.endedAtMs))
    if (isOfOneAlone) return checkAloneAllowance(facts, limit, reached)
    const spent = reached.reduce((sum, one) => sum + chargeOf(one, limit.unit), 0)
    const worst = 1 + countForgotten(facts, reached)
    const bound = highest(limit, 0, Infinity) + worst * worstChargeOf(limit)
    return spent < bound
      ? []
      : [violationOf(limit, [], `${spent} in a month; with ${worst} worst cases less than ${bound}`)]
  },
}

function worstChargeOf({ unit }: LimitFact): number {
  return WORST_TOKENS * rateOf('chat-dear', unit).perCompletionToken
}

/** Requests that had begun, and were not in the ledger, when the store lost its data. */
function countForgotten(facts: Facts, reached: readonly Reached[]): number {
  const recordedAtMs = new Map(facts.rows.map((row) => [row.requestId, row.recordedAtMs]))
  return lossesOfRates(facts).flatMap(({ fromMs, toMs }) =>
    reached.filter(({ seen, calls }) => {
      const recorded = Math.max(...calls.map(({ requestId }) => recordedAtMs.get(requestId) ?? Infinity))
      return seen.sentAtMs < toMs && recorded > fromMs
    }),
  ).length
}

/** Nobody is admitted to an allowance that the ledger knew to be used up. */
function checkAloneAllowance(facts: Facts, limit: LimitFact, reached: readonly Reached[]): Violation[] {
  const own = new Set(reached.flatMap(({ calls }) => calls.map(({ requestId }) => requestId)))
  const rows = facts.rows.filter(({ requestId }) => own.has(requestId))
  return reached.flatMap((one) => {
    const known = rows.filter(({ recordedAtMs }) => recordedAtMs < one.seen.sentAtMs - TOTAL_AGE_MS)
    const spent = known.reduce((sum, { charge }) => sum + charge, 0)
    if (spent < highest(limit, 0, Infinity)) return []
    return [violationOf(limit, [one], `admitted although the ledger knew of ${spent}`)]
  })
}

function checkList({ scope, owners, models }: ListFact, reached: readonly Reached[]): Violation[] {
  return reached
    .filter(({ seen }) => !models.includes(seen.model))
    .map(({ seen }) => ({
      requests: [`${seen.id} ${seen.requestId}`],
      what: `${owners.join(', ')} called ${seen.model}, which the list of the ${scope} leaves out`,
    }))
}

/** Of the values that the limit may have had at any time between the two. */
export function highest({ values }: LimitFact, fromMs: number, toMs: number): number {
  return Math.max(...valuesIn(values, fromMs, toMs))
}

export function lowest({ values }: LimitFact, fromMs: number, toMs: number): number {
  return Math.min(...valuesIn(values, fromMs, toMs))
}

function valuesIn(values: LimitFact['values'], fromMs: number, toMs: number): number[] {
  return values.filter((one) => one.fromMs <= toMs && (one.toMs ?? Infinity) >= fromMs).map(({ value }) => value)
}

export function nameOfLimit({ scope, reason, owners, model }: LimitFact): string {
  return `${reason} of the ${scope}${model === null ? '' : ` ${model}`} of ${owners.join(', ')}`
}

function violationOf(limit: LimitFact, within: readonly Reached[], what: string): Violation {
  return { requests: within.map(({ seen }) => `${seen.id} ${seen.requestId}`), what: `${nameOfLimit(limit)}: ${what}` }
}

/** One says it all: the windows behind it hold the same requests. */
function firstViolation(reached: readonly Reached[], of: (last: Reached) => Violation | null): Violation[] {
  for (const last of reached) {
    const found = of(last)
    if (found) return [found]
  }
  return []
}
