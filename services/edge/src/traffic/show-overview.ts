/**
 * Gathers an overview: the ledger's sums from metering, the figures of all edges, and the names of projects from keys.
 */

import type { Overview, OverviewWindow } from '@gateway/contracts/administration/overview'
import { overviewOf, rangeOf } from '../core/overview.ts'
import { sumViews } from '../core/view-traffic.ts'
import type { OperatorClient } from '../rpc/service-clients.ts'
import type { EdgeFigures } from './query-edges.ts'

export interface OverviewContext {
  operator: Pick<OperatorClient, 'overview'>
  edgeFigures: EdgeFigures
}

/** Of each rank. */
const MOST_PROJECTS = 50

/** `nameAccounts`: their names in the caller's name. */
export async function showOverview(
  { operator, edgeFigures }: OverviewContext,
  { window, account }: { window: OverviewWindow; account: string | null },
  nameAccounts: (accounts: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): Promise<Overview> {
  const nowMs = Date.now()
  const range = rangeOf(window, nowMs)
  const query = (accounts: string[]) => edgeFigures.query({ ...range, account, accounts })
  const queryLedger = (also: string[]) => {
    return operator.overview({ ...range, account, atMost: MOST_PROJECTS, also })
  }
  if (account !== null) {
    const [ledger, { views, known }] = await Promise.all([queryLedger([account]), query([account])])
    return overviewOf({ window, range, nowMs, account, ledger, views, knownEdges: known, names: new Map() })
  }
  // A project whose requests are all refused is not in the ledger.
  const { failing } = sumViews((await query([])).views)
  const also = failing.slice(0, MOST_PROJECTS).map((row) => row.account)
  const ledger = await queryLedger(also)
  const accounts = [...new Set([...ledger.accounts.map(({ name }) => name), ...also])]
  const [{ views, known }, names] = await Promise.all([query(accounts), nameAccounts(accounts)])
  return overviewOf({ window, range, nowMs, account, ledger, views, knownEdges: known, names })
}
