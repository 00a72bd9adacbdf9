/**
 * The windows are the sums of their rows, and the admission store agrees with them. In the end nothing is left over: no
 * event unconsumed, nothing pending, no lease.
 *
 * The charge of a request stays pending when its only report was destroyed with the broker's store. It errs on the side
 * of the limit, until the month is over.
 */

import type { Violation, Facts, StoreFact, Verdict } from './facts.ts'

export function checkTotals(facts: Facts): Verdict[] {
  const { windows, store, owners } = facts
  const totals = totalsOf(facts)
  return [
    {
      invariant: "a window's total is the sum of its rows",
      checked: windows.length,
      violations: windows
        .filter(({ total, sum }) => total !== sum)
        .map(({ account, total, sum }) => ({
          requests: [],
          what: `${nameOf(account, owners)}: the window has ${total}, its rows come to ${sum}`,
        })),
    },
    {
      invariant: 'the admission store holds the same total',
      checked: store.filter(({ known }) => known).length,
      violations: store
        .filter((fact) => differs(fact, totals))
        .map(({ account, settled }) => ({
          requests: [],
          what: `${nameOf(account, owners)}: the store has ${settled}, the window ${totals.get(account) ?? 0}`,
        })),
    },
    {
      invariant: 'lag, pending and leases go back to zero',
      checked: store.length + Object.keys(facts.backlog).length,
      violations: findPending(facts, owners),
    },
  ]
}

/** The work between the gateway and its rest. */
export function findLeftovers(facts: Pick<Facts, 'windows' | 'store' | 'backlog' | 'injected'>): Violation[] {
  const totals = totalsOf(facts)
  const behind = facts.store.filter((fact) => differs(fact, totals))
  return [...findPending(facts, []), ...behind.map(({ account }) => ({ requests: [], what: `${account} is behind` }))]
}

function findPending(
  { store, backlog, injected }: Pick<Facts, 'store' | 'backlog' | 'injected'>,
  owners: Facts['owners'],
): Violation[] {
  const destroyed = new Set(injected.flatMap((fault) => fault.destroyed))
  const isLeftOver = (record: string) => !record.includes(' ended ') || !destroyed.has(record.split(' ')[0]!)
  const pending = store.flatMap(({ account, records, running, leases, heldForKeys }) => {
    const left = records.filter(isLeftOver)
    const heldAlone = records.length === 0 ? heldForKeys : 0
    if (left.length + running + leases + heldAlone === 0) return []
    const what = `${running} running, ${leases} leases, ${heldAlone} held for keys`
    return [{ requests: left, what: `${nameOf(account, owners)}: ${what}` }]
  })
  const waiting = Object.entries(backlog).filter(([, count]) => count > 0)
  return [...pending, ...waiting.map(([name, count]) => ({ requests: [], what: `${name}: ${count}` }))]
}

function differs({ account, known, settled }: StoreFact, totals: Map<string, number>): boolean {
  return known && settled !== (totals.get(account) ?? 0)
}

function totalsOf({ windows }: Pick<Facts, 'windows'>): Map<string, number> {
  return new Map(windows.map(({ account, total }) => [account, total ?? 0]))
}

function nameOf(account: string, owners: Facts['owners']): string {
  return owners.find((owner) => owner.account === account)?.name ?? account
}
