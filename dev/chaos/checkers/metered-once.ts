/**
 * Metered exactly once: an answer whose end reached its client has one row, with the tokens and the target that the
 * backend's own log has for the very answer that the client was given. Nobody is charged twice, nor for a refusal, nor
 * more than the backend made.
 */

import type { Seen } from '../clients/seen.ts'
import type { FaultAction } from '../plan/faults.ts'
import { endsOf } from '../plan/places.ts'
import { placeOf, rateOf } from '../stage/config.ts'
import { type Violation, type Call, type Facts, type LedgerRow, NAMELESS, type Verdict } from './facts.ts'

/** A text that was broken off is counted with a tokenizer other than the backend's. */
const ESTIMATE_SLACK_TOKENS = 8

export function judgeMetering(facts: Facts): Verdict[] {
  const rows = Map.groupBy(facts.rows, ({ requestId }) => requestId)
  const calls = Map.groupBy(facts.calls, ({ requestId }) => requestId)
  const whole = facts.seen.filter(isCompleteResponse)
  return [
    {
      promise: 'an answer whose end reached its client is in the ledger, once, as its backend counted it',
      checked: whole.length,
      breaches: whole
        .filter(({ requestId }) => !wasDestroyed(facts, requestId!, rows.get(requestId!)))
        .flatMap((seen) => checkComplete(facts, seen, rows.get(seen.requestId!) ?? [], calls)),
    },
    {
      promise: 'no row without a backend that did its work; none charges more than was made, nor at another rate',
      checked: facts.rows.length,
      breaches: facts.rows.flatMap((row) => judgeRow(row, calls.get(row.requestId) ?? [])),
    },
    { promise: 'no request is charged twice', checked: facts.rows.length, breaches: findDoubles(facts, calls) },
    judgeRefusals(facts, rows),
  ]
}

/** The store that held the only copy of its report was taken away, and this copy was in it. */
export function wasDestroyed({ injected }: Facts, requestId: string, rows: LedgerRow[] = []): boolean {
  return injected.some(({ destroyed }) => destroyed.includes(requestId)) && rows[0]?.reporter !== 'edge'
}

/** An answer of an inference endpoint; for those that are repeated see `answered-once.ts`. */
function isCompleteResponse(seen: Seen): boolean {
  return seen.whole && seen.kind !== 'rotate' && seen.kind !== 'revoke' && seen.kind !== 'repeating'
}

function checkComplete({ injected }: Facts, seen: Seen, rows: LedgerRow[], calls: Map<string, Call[]>): Violation[] {
  const violation = (what: string): Violation[] => [{ requests: [`${seen.id} ${seen.requestId}`], what }]
  const [row] = rows
  if (!row) return violation('lost: it has no row')
  if (rows.length > 1) return violation(`${rows.length} rows`)
  if (row.reporter !== 'edge' || row.outcome !== 'completed' || !row.delivered) {
    return violation(`its row says ${row.outcome}, by the ${row.reporter}${row.delivered ? '' : ', not delivered'}`)
  }
  const call = callOf(seen, row, calls.get(row.requestId) ?? [])
  if (!call) return violation(`${row.backend} knows nothing of the answer ${seen.responseIds.join(', ')}`)
  const counted = call.usage
  if (!counted) return violation(`${row.backend} told no usage`)
  // A backend that was cut off after its last content, or not heard any more, never told: then the router counts.
  if (row.estimated && (call.outcome !== 'completed' || wasUnheard(injected, seen, row.backend))) return []
  if (!isSame(counted, row)) return violation(`its row has ${tokensOf(row)}, the backend's log ${tokensOf(counted)}`)
  if (seen.usage && !isSame(seen.usage, row))
    return violation(`its row has ${tokensOf(row)}, it was told ${tokensOf(seen.usage)}`)
  return []
}

/** Nothing came from the backend for a time while the answer ran. */
function wasUnheard(injected: Facts['injected'], { sentAtMs, endedAtMs }: Seen, backend: string): boolean {
  return injected.some(
    ({ fault, injectedAtMs, healedAtMs }) =>
      silences(fault, backend) && injectedAtMs < endedAtMs && (healedAtMs ?? Infinity) > sentAtMs,
  )
}

function silences(fault: FaultAction, backend: string): boolean {
  if (fault.kind === 'isolate') return fault.victim.startsWith('router')
  const isLoss = fault.kind === 'mute' || fault.kind === 'one-way' || fault.kind === 'lossy'
  return isLoss && endsOf(fault.link)[1] === placeOf(backend)
}

/** A response does not name its backend's answer; a request that went to one backend twice has the end of the second. */
export function callOf(seen: Seen, row: LedgerRow, calls: Call[]): Call | undefined {
  const asked = calls.filter(({ backend, id }) => backend === row.backend && id === seen.id)
  if (seen.way === 'responses') return asked.find(isCompleted) ?? asked.at(-1)
  return asked.find((call) => (call.responseId === null ? isCompleted(call) : call.responseId === seen.responseIds[0]))
}

const isCompleted = ({ outcome }: Call) => outcome === 'completed'

function judgeRow(row: LedgerRow, calls: Call[]): Violation[] {
  const violation = (what: string): Violation[] => [{ requests: [`${calls[0]?.id ?? '?'} ${row.requestId}`], what }]
  const asked = calls.filter(({ backend }) => backend === row.backend)
  if (asked.length === 0) return violation(`it says ${row.backend}, which was never asked`)
  const rate = rateOf(row.lane, row.unit)
  const charge = Math.round(row.promptTokens * rate.perPromptToken + row.completionTokens * rate.perCompletionToken)
  const charged = row.voidedBy === null ? row.charge : row.voidedCharge
  if (charged !== charge) return violation(`it charges ${charged} for ${tokensOf(row)}, which cost ${charge}`)
  if (row.voidedBy !== null && row.charge !== 0) return violation(`it is void and charges ${row.charge}`)
  const slack = row.estimated ? ESTIMATE_SLACK_TOKENS : 0
  const most = Math.max(...asked.map(({ usage }) => usage?.completionTokens ?? 0)) + slack
  if (row.completionTokens > most) return violation(`it has ${tokensOf(row)}, the backend made ${most} at the most`)
  return []
}

/** But for those that repeat under a key of their own, clients here never ask twice: two rows for one of them are one too many. */
function findDoubles(facts: Facts, calls: Map<string, Call[]>): Violation[] {
  const nameOf = (requestId: string) => {
    const id = calls.get(requestId)?.[0]?.id
    // A hostile client asks the same again and again, and bears no name.
    return id === undefined || id === NAMELESS ? requestId : id
  }
  const byClient = Map.groupBy(facts.rows, ({ requestId }) => nameOf(requestId))
  const repeating = new Set(facts.seen.filter(({ kind }) => kind === 'repeating').map(({ id }) => id))
  return [...byClient]
    .filter(([id, rows]) => rows.length > 1 && !repeating.has(id))
    .map(([id, rows]) => ({ requests: [id, ...rows.map(({ requestId }) => requestId)], what: `${rows.length} rows` }))
}

function judgeRefusals(facts: Facts, rows: Map<string, LedgerRow[]>): Verdict {
  // One whose key died meanwhile may have been cut: what was made until then is charged.
  const refused = facts.seen.filter(
    ({ status, requestId, keyState }) =>
      status !== null && status !== 200 && requestId !== null && keyState !== 'unsure',
  )
  const charged = refused.filter(({ requestId }) => (rows.get(requestId!) ?? []).some(({ charge }) => charge > 0))
  return {
    promise: 'a refusal costs nothing',
    checked: refused.length,
    breaches: charged.map(({ id, requestId, problem }) => ({
      requests: [`${id} ${requestId}`],
      what: `charged although answered ${problem}`,
    })),
  }
}

type Tokens = { promptTokens: number; completionTokens: number }
const isSame = (a: Tokens, b: Tokens) => a.promptTokens === b.promptTokens && a.completionTokens === b.completionTokens
const tokensOf = ({ promptTokens, completionTokens }: Tokens) => `${promptTokens} + ${completionTokens} tokens`
