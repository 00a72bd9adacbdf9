/**
 * Leaving early is worth nothing. Work that a backend had accepted for a client that left has one row, with no less
 * than the client was shown.
 *
 * The client log has the text that was shown, the backend's log the accepted calls. A row may be missing where one
 * process was left to report and a fault took that one. Its edge may have handed the report to a router when it lost
 * its client. It may also be missing where its report was destroyed with the broker's store.
 */

import type { Seen } from '../clients/seen.ts'
import { affectedPlaces } from '../plan/describe-fault.ts'
import type { Violation, Call, Facts, LedgerRow, Injected, Verdict } from './facts.ts'

/** A call that ran for less and said nothing may have met its end on its way. */
const SURELY_ACCEPTED_AFTER_MS = 500
/** The time after a client has left for which its report may still be on its way: heartbeats missed, and a lease. */
const REPORTED_WITHIN_MS = 5_000

export function checkLeavers(facts: Facts): Verdict {
  const calls = Map.groupBy(facts.calls, ({ id }) => id)
  const rows = Map.groupBy(facts.rows, ({ requestId }) => requestId)
  const leavers = facts.seen
    .filter(({ left, complete, keyState }) => left && !complete && keyState === 'alive')
    .flatMap((seen) => {
      const accepted = (calls.get(seen.id) ?? []).filter(isAccepted)
      return accepted.length === 0 ? [] : [{ seen, call: accepted.at(-1)! }]
    })
  return {
    invariant: 'what a backend accepted for a client that left is charged, with all that the client was shown',
    checked: leavers.length,
    violations: leavers.flatMap(({ seen, call }) => checkLeaver(facts, seen, call, rows.get(call.requestId) ?? [])),
  }
}

function isAccepted({ hasResponded, startedAtMs, endedAtMs }: Call): boolean {
  return hasResponded || (endedAtMs ?? Infinity) - startedAtMs > SURELY_ACCEPTED_AFTER_MS
}

function checkLeaver({ injected }: Facts, seen: Seen, call: Call, [row]: LedgerRow[]): Violation[] {
  const violation = (what: string): Violation[] => [{ requests: [`${seen.id} ${call.requestId}`], what }]
  if (!row) {
    const isAllowed = injected.some(
      (injection) => mayTakeReporter(seen, injection) || injection.destroyed.includes(call.requestId),
    )
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
  return isAround && affectedPlaces(injection).some((place) => reporters.includes(place))
}
