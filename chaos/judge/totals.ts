/**
 * The windows are the sums of their rows, the admission store agrees with them, and in the end nothing is left over: no
 * event unconsumed, nothing pending, no lease.
 */

import type { Facts, Verdict } from './facts.ts'

export function judgeTotals({ windows, store, backlog, owners }: Facts): Verdict[] {
  const nameOf = (account: string) => owners.find((owner) => owner.account === account)?.name ?? account
  const totals = new Map(windows.map(({ account, total }) => [account, total]))
  return [
    {
      promise: "a window's total is the sum of its rows",
      checked: windows.length,
      breaches: windows
        .filter(({ total, sum }) => total !== sum)
        .map(({ account, total, sum }) => ({
          requests: [],
          what: `${nameOf(account)}: the window has ${total}, its rows come to ${sum}`,
        })),
    },
    {
      promise: 'the admission store holds the same total',
      checked: store.length,
      breaches: store
        .filter(({ account, settled }) => settled !== (totals.get(account) ?? 0))
        .map(({ account, settled }) => ({
          requests: [],
          what: `${nameOf(account)}: the store has ${settled}, the window ${totals.get(account) ?? 0}`,
        })),
    },
    {
      promise: 'lag, pending and leases go back to zero',
      checked: store.length + 3,
      breaches: [
        ...store
          .filter(({ running, ended, records, leases }) => running + ended + records.length + leases > 0)
          .map(({ account, running, ended, records, leases }) => ({
            requests: records,
            what: `${nameOf(account)}: ${running} running, ${ended} ended, ${leases} leases`,
          })),
        ...Object.entries(backlog)
          .filter(([, count]) => count > 0)
          .map(([name, count]) => ({ requests: [], what: `${name}: ${count}` })),
      ],
    },
  ]
}
