/**
 * A request with an `Idempotency-Key` is repeated at either edge until it gets its response. It gets one in the end,
 * has run to its end once, and is charged for that run alone. A run that lost its edge is void, by that one. An attempt
 * that broke otherwise after its client had seen text is another matter: it was made, and is charged as any response
 * that breaks.
 */

import type { Seen } from '../clients/seen.ts'
import type { Violation, Call, Facts, LedgerRow, Verdict } from './facts.ts'
import { lossesOf } from './losses.ts'
import { callOf, wasDestroyed } from './metered-once.ts'

export function checkRepeating(facts: Facts): Verdict {
  const clients = Map.groupBy(
    facts.seen.filter(({ kind }) => kind === 'repeating'),
    ({ id }) => id,
  )
  const calls = Map.groupBy(facts.calls, ({ id }) => id)
  const rows = Map.groupBy(facts.rows, ({ requestId }) => requestId)
  return {
    invariant: 'what is repeated under one Idempotency-Key is answered, and charged once',
    checked: clients.size,
    violations: [...clients].flatMap(([id, attempts]) => {
      const requests = [id, ...attempts.map(({ requestId }) => requestId ?? '?')]
      return faultsIn(facts, attempts, calls.get(id) ?? [], rows).map((what): Violation => ({ requests, what }))
    }),
  }
}

function faultsIn(facts: Facts, attempts: Seen[], calls: Call[], rows: Map<string, LedgerRow[]>): string[] {
  const last = attempts.at(-1)!
  if (!last.complete)
    return [`not answered in ${attempts.length} attempts: ${last.problem}: ${last.detail.slice(0, 200)}`]
  const requestIds = [...new Set(calls.map(({ requestId }) => requestId))]
  const completed = requestIds.flatMap((requestId) => rows.get(requestId) ?? []).filter(isCompleted)
  if (completed.length > 1 && !wasForgotten(facts, attempts)) return [`it has run to its end ${completed.length} times`]
  if (wasDestroyed(facts, last.requestId!, rows.get(last.requestId!))) return []
  const voids = requestIds
    .flatMap((requestId) => rows.get(requestId) ?? [])
    .flatMap((row) => faultOfLost(row, completed))
  if (voids.length > 0) return voids
  const row = completed.find(({ requestId }) => requestId === last.requestId)
  const call =
    row &&
    callOf(
      last,
      row,
      calls.filter(({ requestId }) => requestId === row.requestId),
    )
  if (!call) return [`the answer ${last.responseIds.join(', ')} has no row, among ${completed.length}`]
  const isSame = row.promptTokens === call.usage?.promptTokens && row.completionTokens === call.usage.completionTokens
  return isSame ? [] : ['its row has other tokens than its backend counted']
}

/** Only a run that lost its edge is void, and each of those is. */
function faultOfLost({ outcome, charge, requestId, isClaimed, voidedBy }: LedgerRow, completed: LedgerRow[]): string[] {
  const isLost = outcome === 'edge_lost'
  if (!isLost && voidedBy !== null) return [`${requestId} is void, and ended as ${outcome}`]
  if (!isLost || !isClaimed || completed.length === 0) return []
  if (charge > 0) return [`${requestId} lost its edge and charges ${charge} beside the answer`]
  const isNamed = completed.some((row) => row.requestId === voidedBy)
  return isNamed ? [] : [`${requestId} is void for ${voidedBy}, which answered nobody`]
}

const isCompleted = ({ outcome, reporter, delivered }: LedgerRow) =>
  outcome === 'completed' && reporter === 'edge' && delivered

/** Kept responses lie in Redis: when its data is taken away, later repeats run again. */
function wasForgotten(facts: Facts, attempts: Seen[]): boolean {
  const [first] = attempts
  return lossesOf(facts).some(({ fromMs, toMs }) => fromMs <= attempts.at(-1)!.endedAtMs && toMs >= first!.sentAtMs)
}
