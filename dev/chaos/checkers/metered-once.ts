/**
 * Metered exactly once: a response whose end reached its client has one row. The row has the tokens and the target that
 * the backend's own log has for the very response that the client was given. Nobody is charged twice, nor for a
 * refusal, nor more than the backend made.
 */

import type { Seen } from '../clients/seen.ts'
import type { FaultAction } from '../plan/faults.ts'
import { endsOf } from '../plan/places.ts'
import { placeOf, rateOf } from '../stage/config.ts'
import { type Violation, type Call, type Facts, type LedgerRow, NAMELESS, type Verdict } from './facts.ts'

export const METERED_ONCE = 'an answer whose end reached its client is in the ledger, once, as its backend counted it'

/** A text that was broken off is counted with a tokenizer other than the backend's. */
const ESTIMATE_SLACK_TOKENS = 8

export function checkMetering(facts: Facts): Verdict[] {
  const rows = Map.groupBy(facts.rows, ({ requestId }) => requestId)
  const calls = Map.groupBy(facts.calls, ({ requestId }) => requestId)
  const complete = facts.seen.filter(isCompleteResponse)
  return [
    {
      invariant: METERED_ONCE,
      checked: complete.length,
      violations: complete
        .filter(({ requestId }) => !wasDestroyed(facts, requestId!, rows.get(requestId!)))
        .flatMap((seen) => checkComplete(facts, seen, rows.get(seen.requestId!) ?? [], calls)),
    },
    {
      invariant: 'no row without a backend that did its work; none charges more than was made, nor at another rate',
      checked: facts.rows.length,
      violations: facts.rows.flatMap((row) => checkRow(row, calls.get(row.requestId) ?? [])),
    },
    { invariant: 'no request is charged twice', checked: facts.rows.length, violations: findDoubles(facts, calls) },
    checkRefusals(facts, rows),
  ]
}

/** The store that held the only copy of its report was taken away, and this copy was in it. */
export function wasDestroyed({ injected }: Facts, requestId: string, rows: LedgerRow[] = []): boolean {
  return injected.some(({ destroyed }) => destroyed.includes(requestId)) && rows[0]?.reporter !== 'edge'
}

/** A response of an inference endpoint; for those that are repeated see `repeated-once.ts`. */
function isCompleteResponse(seen: Seen): boolean {
  return seen.complete && seen.kind !== 'rotate' && seen.kind !== 'revoke' && seen.kind !== 'repeating'
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
  // A backend that was cut off after its last content, or not heard any more, never sent usage: then the router counts.
  if (row.estimated && (call.outcome !== 'completed' || wasUnheard(injected, seen, row.backend))) return []
  if (!isSame(counted, row)) return violation(`its row has ${tokensOf(row)}, the backend's log ${tokensOf(counted)}`)
  if (seen.usage && !isSame(seen.usage, row))
    return violation(`its row has ${tokensOf(row)}, it was told ${tokensOf(seen.usage)}`)
  return []
}

/** Nothing came from the backend for a time while the response ran. */
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

/** A response does not name its backend's response; a request that went to one backend twice has the end of the second. */
export function callOf(seen: Seen, row: LedgerRow, calls: Call[]): Call | undefined {
  const requested = calls.filter(({ backend, id }) => backend === row.backend && id === seen.id)
  if (seen.way === 'responses') return requested.find(isCompleted) ?? requested.at(-1)
  return requested.find((call) =>
    call.responseId === null ? isCompleted(call) : call.responseId === seen.responseIds[0],
  )
}

const isCompleted = ({ outcome }: Call) => outcome === 'completed'

function checkRow(row: LedgerRow, calls: Call[]): Violation[] {
  const violation = (what: string): Violation[] => [{ requests: [`${calls[0]?.id ?? '?'} ${row.requestId}`], what }]
  const requested = calls.filter(({ backend }) => backend === row.backend)
  if (requested.length === 0) return violation(`it says ${row.backend}, which was never asked`)
  const rate = rateOf(row.lane, row.unit)
  const charge = Math.round(row.promptTokens * rate.perPromptToken + row.completionTokens * rate.perCompletionToken)
  const charged = row.voidedBy === null ? row.charge : row.voidedCharge
  if (charged !== charge) return violation(`it charges ${charged} for ${tokensOf(row)}, which cost ${charge}`)
  if (row.voidedBy !== null && row.charge !== 0) return violation(`it is void and charges ${row.charge}`)
  const slack = row.estimated ? ESTIMATE_SLACK_TOKENS : 0
  const most = Math.max(...requested.map(({ usage }) => usage?.completionTokens ?? 0)) + slack
  if (row.completionTokens > most) return violation(`it has ${tokensOf(row)}, the backend made ${most} at the most`)
  return []
}

/**
 * Clients here never send a request twice, but for those that repeat under a key of their own. Two rows for one of the
 * others are one too many.
 */
function findDoubles(facts: Facts, calls: Map<string, Call[]>): Violation[] {
  const nameOf = (requestId: string) => {
    const id = calls.get(requestId)?.[0]?.id
    // A hostile client sends the same again and again, and bears no name.
    return id === undefined || id === NAMELESS ? requestId : id
  }
  const byClient = Map.groupBy(facts.rows, ({ requestId }) => nameOf(requestId))
  const repeating = new Set(facts.seen.filter(({ kind }) => kind === 'repeating').map(({ id }) => id))
  return [...byClient]
    .filter(([id, rows]) => rows.length > 1 && !repeating.has(id))
    .map(([id, rows]) => ({ requests: [id, ...rows.map(({ requestId }) => requestId)], what: `${rows.length} rows` }))
}

function checkRefusals(facts: Facts, rows: Map<string, LedgerRow[]>): Verdict {
  // One whose key died meanwhile may have been cut: it is charged for the output until then.
  const refused = facts.seen.filter(
    ({ status, requestId, keyState }) =>
      status !== null && status !== 200 && requestId !== null && keyState !== 'unsure',
  )
  const charged = refused.filter(({ requestId }) => (rows.get(requestId!) ?? []).some(({ charge }) => charge > 0))
  return {
    invariant: 'a refusal costs nothing',
    checked: refused.length,
    violations: charged.map(({ id, requestId, problem }) => ({
      requests: [`${id} ${requestId}`],
      what: `charged although answered ${problem}`,
    })),
  }
}

type Tokens = { promptTokens: number; completionTokens: number }
const isSame = (a: Tokens, b: Tokens) => a.promptTokens === b.promptTokens && a.completionTokens === b.completionTokens
const tokensOf = ({ promptTokens, completionTokens }: Tokens) => `${promptTokens} + ${completionTokens} tokens`
