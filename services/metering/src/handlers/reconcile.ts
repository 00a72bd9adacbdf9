/**
 * Holds the admission store's totals and pending requests against the ledger, for some accounts. It looks twice, so it
 * ignores totals on their way. It reports lasting differences only, and mends them on request.
 */

import type { MeteringAdmission } from '@gateway/admission/port'
import type {
  AccountPlan,
  ReconcileTotalsReply,
  ReconcileTotalsRequest,
  Repair,
  Repairer,
} from '@gateway/contracts/reconcile-api'
import { readStable } from '@gateway/admission/read-stable'
import { compareTotals, compareUnit, type TotalsFinding } from '../core/compare-totals.ts'
import { keepKeyTotals } from '../db/key-totals.ts'
import { readRecorded } from '../db/ledger.ts'
import { readCurrentTotals } from '../settlement.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import { raiseVersionAbove, readTotals, readUnits, setUnit } from '../db/windows.ts'

export interface ReconcileContext {
  database: MeteringDatabase
  admission: MeteringAdmission
  now(): number
  /** Resolves when the audit log has them. */
  noteRepairs(repairs: readonly Repair[], by: Repairer | undefined): Promise<void>
}

/** Longer than a total takes from its commit to the store. */
const ON_ITS_WAY_MS = 1_500

export async function reconcile(
  context: ReconcileContext,
  { accounts, plans, repair, by }: ReconcileTotalsRequest,
  onItsWayMs: number = ON_ITS_WAY_MS,
): Promise<ReconcileTotalsReply> {
  const planOf = new Map(plans.map((plan) => [plan.account, plan]))
  const findings = await readStable(accounts, (some) => look(context, some, planOf), onItsWayMs)
  if (repair) await mendAll(context, findings, by)
  const still = repair && findings.length > 0 ? await look(context, accounts, planOf) : findings
  const left = new Set(still.map(({ id }) => id))
  return {
    drifts: findings.map(({ account, kind, store, truth, id }) => {
      return { account, kind, store, truth, repaired: !left.has(id) }
    }),
  }
}

async function look(
  { database, admission, now }: ReconcileContext,
  accounts: readonly string[],
  planOf: ReadonlyMap<string, AccountPlan>,
): Promise<TotalsFinding[]> {
  // First the store: a row recorded in between is newer in the ledger, as on its way.
  const held = await Promise.all(accounts.map(async (account) => ({ account, ...(await admission.inspect(account)) })))
  const queries = held.map(({ account, window, keyTotals }) => {
    return { account, window, keyIds: keyTotals.map(({ keyId }) => keyId) }
  })
  await keepKeyTotals(
    database,
    queries.flatMap(({ keyIds, ...window }) => keyIds.map((keyId) => ({ ...window, keyId }))),
  )
  const totals = new Map((await readTotals(database, queries)).map((total) => [total.account, total]))
  const units = new Map((await readUnits(database, held)).map((unit) => [unit.account, unit]))
  const ended = held.flatMap(({ requests }) => requests.filter(({ state }) => state === 'ended'))
  const recorded = await readRecorded(
    database,
    ended.map(({ requestId }) => requestId),
  )
  return held.flatMap(({ account, ...of }) => {
    const { settled, version, keys = [] } = totals.get(account) ?? { settled: 0, version: 0 }
    const keyTotals = new Map(keys.map((key) => [key.keyId, key.settled]))
    const [unit, plan] = [units.get(account), planOf.get(account)]
    const ofUnit = unit && plan ? compareUnit(account, unit, plan) : []
    return [...ofUnit, ...compareTotals(of, { account, settled, version, keyTotals, recorded }, now())]
  })
}

/** The audit log belongs to keys, so its rows come first: a repair may fail after its row, and none is without a row. */
async function mendAll(
  context: ReconcileContext,
  findings: readonly TotalsFinding[],
  by: Repairer | undefined,
): Promise<void> {
  const repairable = findings.filter(({ repair }) => Object.keys(repair).length > 0)
  if (repairable.length === 0) return
  await context.noteRepairs(
    repairable.map(({ account, kind, store, truth }) => ({ account, kind, store, truth })),
    by,
  )
  for (const [account, ofAccount] of Map.groupBy(repairable, (finding) => finding.account)) {
    await mend(
      context,
      account,
      ofAccount.map(({ repair }) => repair),
    )
  }
}

async function mend(
  { database, admission }: ReconcileContext,
  account: string,
  repairs: readonly TotalsFinding['repair'][],
): Promise<void> {
  const { window } = await admission.currentWindow(account)
  for (const { unit } of repairs) if (unit) await setUnit(database, { account, window, ...unit })
  for (const { aboveVersion } of repairs) {
    if (aboveVersion !== undefined) await raiseVersionAbove(database, { account, window, version: aboveVersion })
  }
  const isOtherUnit = repairs.some((repair) => repair.unit)
  const included = repairs.flatMap((repair) => repair.included ?? [])
  if (included.length > 0 || isOtherUnit || repairs.some(({ aboveVersion }) => aboveVersion !== undefined)) {
    const keyIds = repairs.flatMap(({ keyId }) => keyId ?? [])
    const totals = await readCurrentTotals(database, [
      { account, window, included, keyIds: isOtherUnit ? 'all' : keyIds },
    ])
    for (const total of totals) await admission.applyTotal(total)
  }
  if (repairs.some(({ recount }) => recount)) await admission.recount(account)
}
