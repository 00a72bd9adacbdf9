/**
 * The audit log verifies, and has each confirmed change exactly once. A call of unknown outcome is there at most once, and a
 * refused one not at all. While nothing is wrong, calls are confirmed.
 */

import { AUDITED_AS, type AdministrationCall } from '../clients/administrator.ts'
import type { AuditRow, Facts, Verdict, Violation } from './facts.ts'

/** A call that began just before a fault has healed may still fail because of it. */
const AFTERMATH_MS = 1_000

export function checkAudit(facts: Facts): Verdict[] {
  const { calls = [], audit = { rows: [], checked: 0, problem: null } } = facts.administration ?? {}
  const rows = Map.groupBy(audit.rows, ({ userAgent }) => userAgent ?? '')
  const unconfirmed = calls.filter((call) => call.status !== 200 && !isUnderFault(facts, call))
  return [
    {
      invariant: 'the chain of the audit log verifies',
      checked: audit.checked,
      violations: [
        ...(audit.problem === null ? [] : [{ requests: [], what: audit.problem }]),
        ...(audit.checked === audit.rows.length
          ? []
          : [{ requests: [], what: `${audit.checked} rows verified, and there are ${audit.rows.length}` }]),
      ],
    },
    {
      invariant: 'the audit log has each confirmed change once, and an unconfirmed one at most once',
      checked: calls.length,
      violations: [
        ...calls.flatMap((call) => checkCall(call, rows.get(call.agent) ?? [])),
        ...checkRepeated(calls, rows),
      ],
    },
    {
      invariant: 'no avoidable failure reaches an administrator',
      checked: calls.length,
      violations: unconfirmed.map((call) => violationOf(call, `${call.status}: ${call.detail}`)),
    },
  ]
}

function checkCall(call: AdministrationCall, rows: readonly AuditRow[]): Violation[] {
  const { operation, change, status, requestId } = call
  const expected: readonly string[] = AUDITED_AS[operation]
  const isRefused = status !== null && status >= 400 && status < 500
  const isConfirmed = status === 200 && change === null
  const wrong = rows.filter(({ type }) => !expected.includes(type)).map(({ type }) => `it has a row ${type}`)
  const counts = expected.map((type) => ({ type, count: rows.filter((row) => row.type === type).length }))
  const most = isRefused ? 0 : 1
  const miscounted = counts
    .filter(({ count }) => count > most || (isConfirmed && count === 0))
    .map(({ type, count }) => `it is ${status ?? 'unknown'}, and has ${count} rows ${type}`)
  const isPartial = new Set(counts.map(({ count }) => count)).size > 1
  const foreign = rows.filter((row) => requestId !== null && row.requestId !== requestId)
  return [
    ...wrong,
    ...miscounted,
    ...(isPartial && miscounted.length === 0 ? ['it has some of its rows alone'] : []),
    ...foreign.map((row) => `its row names the request ${row.requestId} and not ${requestId}`),
  ].map((what) => violationOf(call, what))
}

/** One call of a change has the row, also where its repetition alone was confirmed. */
function checkRepeated(calls: readonly AdministrationCall[], rows: ReadonlyMap<string, AuditRow[]>): Violation[] {
  const byChange = Map.groupBy(
    calls.filter(({ change }) => change !== null),
    ({ change }) => change,
  )
  return [...byChange.values()].flatMap((attempts) => {
    const confirmed = attempts.find(({ status }) => status === 200)
    const count = attempts.reduce((sum, { agent }) => sum + (rows.get(agent)?.length ?? 0), 0)
    const isRight = confirmed ? count === 1 : count <= 1
    return isRight ? [] : [violationOf(attempts.at(-1)!, `the change of ${attempts[0]!.change} has ${count} rows`)]
  })
}

function isUnderFault({ injected }: Facts, { sentAtMs, endedAtMs }: AdministrationCall): boolean {
  return injected.some(
    ({ injectedAtMs, healedAtMs }) => injectedAtMs <= endedAtMs && (healedAtMs ?? Infinity) + AFTERMATH_MS >= sentAtMs,
  )
}

function violationOf({ agent, operation, requestId }: AdministrationCall, what: string): Violation {
  return { requests: [`${agent} ${requestId}`], what: `${operation}: ${what}` }
}
