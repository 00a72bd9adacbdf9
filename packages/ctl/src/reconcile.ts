/**
 * `reconcile`: whether the admission store agrees with keys' tables and with the ledger, account by account.
 */

import type { Drift, ReconcileKeysReply } from '@gateway/contracts/reconcile-api'
import { renderTable, type CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'

const REPORT_EVERY_ACCOUNTS = 10_000

/** An interruption leaves nothing half done; the next run begins again. */
export async function reconcile(
  gateway: Gateway,
  repair: boolean,
  log: (line: string) => void,
): Promise<CommandResult> {
  const drifts: Drift[] = []
  let accounts = 0
  let after: string | null = null
  for (let isLast = false; !isLast;) {
    const page: ReconcileKeysReply = await gateway.request('keysReconcile', { after, repair })
    const totals = await gateway.request('meteringReconcile', { accounts: page.accounts, plans: page.plans, repair })
    drifts.push(...page.drifts, ...totals.drifts)
    const before = accounts
    accounts += page.accounts.length
    if (Math.floor(accounts / REPORT_EVERY_ACCOUNTS) > Math.floor(before / REPORT_EVERY_ACCOUNTS))
      log(`${accounts} accounts`)
    after = page.accounts.at(-1) ?? null
    isLast = page.isLast
  }
  const unrepaired = drifts.filter(({ repaired }) => !repaired).length
  return {
    data: { accounts, drifts, unrepaired },
    text: describe(accounts, drifts, unrepaired),
    findsFault: unrepaired > 0,
  }
}

function describe(accounts: number, drifts: Drift[], unrepaired: number): string {
  if (drifts.length === 0) return `${accounts} accounts: the admission store agrees with the ledger and with the keys`
  const table = renderTable<Drift>(
    [
      { title: 'account', cell: (drift) => drift.account },
      { title: 'what', cell: (drift) => drift.kind },
      { title: 'admission store', cell: (drift) => drift.store },
      { title: 'database', cell: (drift) => drift.truth },
      { title: 'repaired', cell: (drift) => (drift.repaired ? 'yes' : 'no') },
    ],
    drifts,
  )
  return `${table}\n${accounts} accounts, ${drifts.length} differences, ${unrepaired} of them not repaired`
}
