/**
 * Limits hold: never more requests than the limit in any 60 seconds, the allowance passed by less than one worst case.
 *
 * When a request was admitted lies between its sending and its head. Only requests that were all admitted within 60 s
 * for certain are held against the limit, so that a slow machine is no breach.
 *
 * While an edge finds the admission store away it decides by itself. It uses its share of the rate, so that a minute
 * across the two can see the rate twice. It uses a total of the ledger that is at most five seconds old. A store that
 * has lost its data begins its log again. It forgets the holds of requests that run or are not in the ledger then. So
 * does a store whose clock is set ahead by half a minute, the length of a lease.
 */

import { capFor } from '../clients/question.ts'
import type { Seen } from '../clients/seen.ts'
import { SMALL_WORDS, THIMBLE_TOKENS, TRICKLE_PER_MINUTE } from '../plan/owners.ts'
import { rateOf } from '../stage/config.ts'
import { wasAnyAlone } from './alone.ts'
import type { Violation, Facts, LedgerRow, Verdict } from './facts.ts'
import { lossesOfRates } from './losses.ts'

const MINUTE_MS = 60_000
/** A byte a token is the gateway's bound for prompts: the frame around the words, and the words. */
const WORST_TOKENS = capFor(SMALL_WORDS) + 24 + 7 * SMALL_WORDS
/** The oldest total that an edge alone goes by, and the time to get there and back. */
const TOTAL_AGE_MS = 6_000

export function checkLimits(facts: Facts): Verdict[] {
  const ownersOf = (kind: string) => facts.owners.filter((owner) => owner.kind === kind)
  const trickles = ownersOf('trickle')
  const thimbles = ownersOf('thimble')
  const admittedTo = (name: string) =>
    facts.seen.filter(({ owner, status, headAtMs }) => owner === name && status === 200 && headAtMs !== null)
  return [
    {
      invariant: 'no more requests than the limit in any 60 seconds',
      checked: trickles.flatMap(({ name }) => admittedTo(name)).length,
      violations: trickles.flatMap(({ name }) => checkRate(name, admittedTo(name), facts)),
    },
    {
      invariant: 'the allowance is passed by less than one worst case',
      checked: thimbles.flatMap(({ name }) => admittedTo(name)).length,
      violations: thimbles.flatMap(({ name, account }) => {
        const rows = facts.rows.filter((row) => row.account === account).map((row) => withLatestTime(row, facts))
        const wasAlone = admittedTo(name).some(({ sentAtMs, headAtMs }) => wasAnyAlone(facts, sentAtMs, headAtMs!))
        if (wasAlone) return checkAloneAllowance(name, admittedTo(name), rows)
        return checkAllowance(name, rows, countForgotten(facts, name, rows))
      }),
    },
  ]
}

function checkRate(owner: string, admitted: Seen[], facts: Facts): Violation[] {
  const byHead = admitted.toSorted((a, b) => a.headAtMs! - b.headAtMs!)
  for (const last of byHead) {
    const fromMs = last.headAtMs! - MINUTE_MS
    const within = byHead.filter(({ sentAtMs, headAtMs }) => sentAtMs > fromMs && headAtMs! <= last.headAtMs!)
    const limit = TRICKLE_PER_MINUTE * timesTheLimit(facts, fromMs, last.headAtMs!)
    if (within.length > limit) {
      const what = `${owner} was admitted ${within.length} times within 60 s; its limit is ${limit}`
      return [{ requests: within.map(({ id, requestId }) => `${id} ${requestId}`), what }]
    }
  }
  return []
}

/** Once more while edges decide by themselves, and once more each time that the store loses its log. */
export function timesTheLimit(facts: Facts, fromMs: number, toMs: number): number {
  const losses = lossesOfRates(facts).filter((loss) => loss.fromMs < toMs && loss.toMs > fromMs)
  return 1 + (wasAnyAlone(facts, fromMs, toMs) ? 1 : 0) + losses.length
}

/** A clock of PostgreSQL that was behind may have dated the row too early. */
function withLatestTime(row: LedgerRow, { injected }: Facts): LedgerRow {
  const behindByMs = injected.flatMap(({ fault, injectedAtMs, healedAtMs }) => {
    if (fault.kind !== 'clock' || fault.victim !== 'postgres') return []
    const byRightClockMs = row.recordedAtMs - fault.byMs
    return byRightClockMs >= injectedAtMs && byRightClockMs <= (healedAtMs ?? Infinity) ? [-fault.byMs] : []
  })
  return { ...row, recordedAtMs: row.recordedAtMs + Math.max(0, ...behindByMs) }
}

function checkAllowance(owner: string, rows: readonly LedgerRow[], forgotten: number): Violation[] {
  const { perCompletionToken } = rateOf('chat-one', 'tokens')
  const spent = rows.reduce((sum, { charge }) => sum + charge, 0)
  const bound = (THIMBLE_TOKENS + (1 + forgotten) * WORST_TOKENS) * perCompletionToken
  if (spent < bound) return []
  return [
    { requests: [], what: `${owner} has spent ${spent}; with ${1 + forgotten} worst cases its bound is ${bound}` },
  ]
}

/** Requests that had begun, and were not in the ledger, when the store lost its data. */
function countForgotten(facts: Facts, name: string, rows: readonly LedgerRow[]): number {
  const recordedAtMs = new Map(rows.map((row) => [row.requestId, row.recordedAtMs]))
  const requested = facts.seen.filter(
    ({ owner, requestId }) => owner === name && requestId !== null && recordedAtMs.has(requestId),
  )
  return lossesOfRates(facts).flatMap(({ fromMs, toMs }) =>
    requested.filter(({ requestId, sentAtMs }) => sentAtMs < toMs && recordedAtMs.get(requestId!)! > fromMs),
  ).length
}

/** Nobody is admitted to an allowance that the ledger knew to be used up. */
function checkAloneAllowance(owner: string, admitted: readonly Seen[], rows: readonly LedgerRow[]): Violation[] {
  const { perCompletionToken } = rateOf('chat-one', 'tokens')
  return admitted.flatMap(({ id, requestId, sentAtMs }) => {
    const known = rows.filter(({ recordedAtMs }) => recordedAtMs < sentAtMs - TOTAL_AGE_MS)
    const spent = known.reduce((sum, { charge }) => sum + charge, 0)
    if (spent < THIMBLE_TOKENS * perCompletionToken) return []
    return [{ requests: [`${id} ${requestId}`], what: `${owner} was admitted although its ledger knew of ${spent}` }]
  })
}
