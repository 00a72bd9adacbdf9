/**
 * Leaving early is worth nothing: what a backend had accepted for a client that left has one row, with no less than the
 * client was shown.
 *
 * The client log tells what was shown, the backend's log what was accepted. A row is missed only where one process was
 * left to report and a fault took that one: its edge may have handed the report to a router when it lost its client.
 */

import type { Seen } from '../clients/seen.ts'
import { placesInjected } from '../plan/describe-fault.ts'
import type { Violation, Call, Facts, LedgerRow, Injected, Verdict } from './facts.ts'

/** A call that ran for less and said nothing may have met its end on its way. */
const SURELY_ACCEPTED_AFTER_MS = 500
/** How long after a client has left its report may still be on its way: heartbeats missed, and a lease. */
const REPORTED_WITHIN_MS = 5_000

export function judgeLeavers(facts: Facts): Verdict {
  const calls = Map.groupBy(facts.calls, ({ id }) => id)
  const rows = Map.groupBy(facts.rows, ({ requestId }) => requestId)
  const leavers = facts.seen
    .filter(({ left, whole, keyState }) => left && !whole && keyState === 'alive')
    .flatMap((seen) => {
      const accepted = (calls.get(seen.id) ?? []).filter(isAccepted)
      return accepted.length === 0 ? [] : [{ seen, call: accepted.at(-1)! }]
    })
  return {
    promise: 'what a backend accepted for a client that left is charged, with all that the client was shown',
    checked: leavers.length,
    breaches: leavers.flatMap(({ seen, call }) => judgeLeaver(facts, seen, call, rows.get(call.requestId) ?? [])),
  }
}

function isAccepted({ hasResponded, startedAtMs, endedAtMs }: Call): boolean {
  return hasResponded || (endedAtMs ?? Infinity) - startedAtMs > SURELY_ACCEPTED_AFTER_MS
}

function judgeLeaver({ injected }: Facts, seen: Seen, call: Call, [row]: LedgerRow[]): Violation[] {
  const violation = (what: string): Violation[] => [{ requests: [`${seen.id} ${call.requestId}`], what }]
  if (!row) {
    const isAllowed = injected.some((injection) => mayTakeReporter(seen, injection))
    return isAllowed ? [] : violation(`its client left, ${call.backend} had accepted it, and it has no row`)
  }
  if (row.promptTokens === 0) return violation('its client left, and its row has no prompt')
  if (row.completionTokens >= seen.words) return []
  return violation(`its client was shown ${seen.words} words and its row has ${row.completionTokens} tokens`)
}

function mayTakeReporter({ edge, sentAtMs, endedAtMs }: Seen, injection: Injected): boolean {
  const isAround =
    injection.injectedAtMs < endedAtMs + REPORTED_WITHIN_MS && (injection.healedAtMs ?? Infinity) > sentAtMs
  const reporters = ['router-1', 'router-2', `edge-${edge + 1}`, 'nats']
  return isAround && placesInjected(injection).some((place) => reporters.includes(place))
}
