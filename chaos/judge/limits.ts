/**
 * Limits hold: never more than the rate in any 60 seconds, the allowance passed by less than one worst case.
 *
 * When a request was admitted lies between its sending and its head. Only requests that were all admitted within 60 s
 * for certain are held against the limit, so that a slow machine is no breach.
 */

import { capFor } from '../clients/question.ts'
import type { Seen } from '../clients/seen.ts'
import { THIMBLE_TOKENS, TRICKLE_PER_MINUTE } from '../plan/owners.ts'
import { rateOf } from '../stage/config.ts'
import type { Breach, Facts, LedgerRow, Verdict } from './facts.ts'

const MINUTE_MS = 60_000
/** Of the small requests that those with limits ask: twice their words and some, and their prompt. */
const WORST_TOKENS = 2 * capFor(40)

export function judgeLimits(facts: Facts): Verdict[] {
  const ownersOf = (kind: string) => facts.owners.filter((owner) => owner.kind === kind)
  const trickles = ownersOf('trickle')
  const thimbles = ownersOf('thimble')
  const admittedTo = (name: string) =>
    facts.seen.filter(({ owner, status, headAtMs }) => owner === name && status === 200 && headAtMs !== null)
  return [
    {
      promise: 'no more requests than the limit in any 60 seconds',
      checked: trickles.flatMap(({ name }) => admittedTo(name)).length,
      breaches: trickles.flatMap(({ name }) => judgeRate(name, admittedTo(name), facts)),
    },
    {
      promise: 'the allowance is passed by less than one worst case',
      checked: thimbles.length,
      breaches: thimbles.flatMap(({ name, account }) => judgeAllowance(name, account, facts.rows)),
    },
  ]
}

function judgeRate(owner: string, admitted: Seen[], facts: Facts): Breach[] {
  const byHead = admitted.toSorted((a, b) => a.headAtMs! - b.headAtMs!)
  for (const last of byHead) {
    const fromMs = last.headAtMs! - MINUTE_MS
    const within = byHead.filter(({ sentAtMs, headAtMs }) => sentAtMs > fromMs && headAtMs! <= last.headAtMs!)
    const limit = TRICKLE_PER_MINUTE * (wasStoreAway(facts, fromMs, last.headAtMs!) ? 2 : 1)
    if (within.length > limit) {
      const what = `${owner} was admitted ${within.length} times within 60 s; its limit is ${limit}`
      return [{ requests: within.map(({ id, requestId }) => `${id} ${requestId}`), what }]
    }
  }
  return []
}

/** While the store is away each edge decides alone, on its share: together once more the rate. */
function wasStoreAway({ struck }: Facts, fromMs: number, toMs: number): boolean {
  return struck.some(
    ({ fault, struckAtMs, healedAtMs }) =>
      fault.victim === 'redis' && struckAtMs < toMs && (healedAtMs ?? Infinity) > fromMs,
  )
}

function judgeAllowance(owner: string, account: string, rows: readonly LedgerRow[]): Breach[] {
  const { perCompletionToken } = rateOf('chat-one', 'tokens')
  const spent = rows.filter((row) => row.account === account).reduce((sum, { charge }) => sum + charge, 0)
  const bound = (THIMBLE_TOKENS + WORST_TOKENS) * perCompletionToken
  if (spent < bound) return []
  return [{ requests: [], what: `${owner} has spent ${spent}; with one worst case its bound is ${bound}` }]
}
