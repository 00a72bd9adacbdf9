/**
 * Compares an account's figures in the admission store with the ledger. Pure.
 */

import type { HeldAccount } from '@gateway/admission/held-account'
import type { Drift } from '@gateway/contracts/reconcile-api'
import type { PlanUnit } from '@gateway/contracts/usage'
import { timeOfRequestMs } from './reports.ts'

interface LedgerState {
  account: string
  /** In the unit of the account's plan; 0 of version 0 where the window has no row. */
  settled: number
  version: number
  /** Of keys with limits of their own, in the same unit. */
  keyTotals: ReadonlyMap<string, number>
  /** The held requests that have a row. */
  recorded: { has(requestId: string): boolean }
}

/** The repairs; those of one account run together. */
interface TotalsRepair {
  /** The repair writes the window's total in this unit. */
  unit?: { unit: PlanUnit; planVersion: number }
  /** The repair writes the total again, under a version above this. */
  aboveVersion?: number
  /** With the total of this key. */
  keyId?: string
  /** Requests that the ledger has, which the store still holds as pending. */
  included?: string
  recount?: boolean
}

export interface TotalsFinding extends Omit<Drift, 'repaired'> {
  id: string
  repair: TotalsRepair
}

interface UnitState {
  unit: PlanUnit
  planVersion: number
}

/** The month's total must be in the unit of the account's plan: it is measured against that plan's limit. */
export function compareUnit(account: string, window: UnitState, plan: UnitState): TotalsFinding[] {
  if (window.unit === plan.unit) return []
  const describe = ({ unit, planVersion }: UnitState) => `in ${unit} (plan version ${planVersion})`
  const [store, truth] = [`total ${describe(window)}`, `plan ${describe(plan)}`]
  const planVersion = Math.max(window.planVersion, plan.planVersion)
  return [{ account, kind: 'unit', store, truth, id: `${account} unit`, repair: { unit: { ...plan, planVersion } } }]
}

/** Reports come within seconds; after this long, one that has not come never will by itself. */
const REPORTED_WITHIN_MS = 3_600_000

export function compareTotals(held: HeldAccount, ledger: LedgerState, nowMs: number): TotalsFinding[] {
  return [
    ...compareTotal(held, ledger),
    ...compareKeyTotals(held, ledger),
    ...compareSums(held, ledger.account),
    ...compareRequests(held, ledger, nowMs),
  ]
}

function compareTotal({ total }: HeldAccount, { account, settled, version }: LedgerState): TotalsFinding[] {
  if (total === null || (total.settled === settled && total.version === version)) return []
  const describe = (of: { settled: number; version: number }) => `${of.settled} settled (version ${of.version})`
  const store = describe(total)
  const repair = { aboveVersion: total.version }
  return [{ account, kind: 'total', store, truth: describe({ settled, version }), id: `${account} ${store}`, repair }]
}

/** A key's total is as old as the last change of it. So the versions say nothing, and the amounts must be the same. */
function compareKeyTotals(
  { keyTotals, total }: HeldAccount,
  { account, keyTotals: kept }: LedgerState,
): TotalsFinding[] {
  return keyTotals.flatMap(({ keyId, settled, version }): TotalsFinding[] => {
    const truth = kept.get(keyId) ?? 0
    if (settled === truth) return []
    const store = `${settled} settled of key ${keyId} (version ${version})`
    const repair = { aboveVersion: Math.max(version, total?.version ?? 0), keyId }
    return [{ account, kind: 'total', store, truth: `${truth} settled of it`, id: `${account} ${store}`, repair }]
  })
}

function compareSums({ requests, running, ended }: HeldAccount, account: string): TotalsFinding[] {
  const sum = (state: 'running' | 'ended') =>
    requests.reduce((total, request) => total + (request.state === state ? request.amount : 0), 0)
  const counted = { running: sum('running'), ended: sum('ended') }
  if (counted.running === running && counted.ended === ended) return []
  const describe = (sums: typeof counted) => `${sums.running} running, ${sums.ended} ended`
  const [store, truth] = [describe({ running, ended }), `${describe(counted)}, by its requests`]
  return [{ account, kind: 'pending', store, truth, id: `${account} sums`, repair: { recount: true } }]
}

function compareRequests({ requests }: HeldAccount, ledger: LedgerState, nowMs: number): TotalsFinding[] {
  const { account, recorded } = ledger
  return requests.flatMap(({ requestId, state, amount, lapsed }): TotalsFinding[] => {
    const about = { account, id: `${account} ${requestId} ${state}` }
    if (lapsed) {
      const store = `${requestId} runs, ${amount} at most`
      return [{ ...about, kind: 'lease', store, truth: 'nobody renews it', repair: { recount: true } }]
    }
    if (state !== 'ended') return []
    const store = `${requestId} ended, ${amount}`
    if (recorded.has(requestId)) {
      return [{ ...about, kind: 'pending', store, truth: 'the total has it already', repair: { included: requestId } }]
    }
    const endedLongAgo = nowMs - timeOfRequestMs(requestId) > REPORTED_WITHIN_MS
    const truth = 'the ledger does not have it; see metering.rejected'
    return endedLongAgo ? [{ ...about, kind: 'unreported', store, truth, repair: {} }] : []
  })
}
