/**
 * An edge's figures for an overview, from the slots of its traffic, and the sums of several edges' figures. Pure.
 */

import type { DescribeEdge, EdgeView } from '@gateway/contracts/edges-api'
import { addFigures, emptyFigures, type Figures, type Slot } from './traffic.ts'

type Counted = Pick<EdgeView, 'totals' | 'buckets' | 'models' | 'backends' | 'accounts' | 'failing'>

export function viewTraffic(slots: readonly Slot[], { account, accounts }: DescribeEdge): Counted {
  if (account !== null) return viewAccount(slots, account)
  const buckets = new Sums<number>()
  const models = new Sums<string>()
  const backends = new Sums<string>()
  const projects = new Sums<string>()
  const failing = new Map<string, number>()
  const wanted = new Set(accounts)
  for (const slot of slots) {
    buckets.add(slot.begins, slot.all)
    for (const [name, figures] of slot.models) models.add(name, figures)
    for (const [name, figures] of slot.backends) backends.add(name, figures)
    for (const [name, figures] of slot.projects) {
      if (wanted.has(name)) projects.add(name, figures)
      const failures = failuresOf(figures)
      if (failures > 0) failing.set(name, (failing.get(name) ?? 0) + failures)
    }
  }
  return {
    ...totalled(buckets),
    models: models.named(),
    backends: backends.named(),
    accounts: projects.named(),
    failing: mostFirst(failing).slice(0, MOST_FAILING),
  }
}

/** The bus carries no message of any length. */
const MOST_FAILING = 500

/** Edges count no models and backends of an account. */
function viewAccount(slots: readonly Slot[], account: string): Counted {
  const buckets = new Sums<number>()
  for (const { begins, projects } of slots) {
    const figures = projects.get(account)
    if (figures) buckets.add(begins, figures)
  }
  const { totals, buckets: series } = totalled(buckets)
  const accounts = totals.requests > 0 ? [{ name: account, ...totals }] : []
  return { totals, buckets: series, models: [], backends: [], accounts, failing: [] }
}

function totalled(buckets: Sums<number>): Pick<Counted, 'totals' | 'buckets'> {
  const totals = emptyFigures()
  for (const [, figures] of buckets.all) addFigures(totals, figures)
  const series = Array.from(buckets.all, ([begins, figures]) => ({ begins, ...figures }))
  return { totals, buckets: series.filter(({ requests }) => requests > 0).toSorted((a, b) => a.begins - b.begins) }
}

function failuresOf({ failures }: Figures): number {
  let sum = 0
  for (const code in failures) sum += failures[code]!
  return sum
}

function mostFirst(failing: ReadonlyMap<string, number>): Counted['failing'] {
  const rows = Array.from(failing, ([account, failures]) => ({ account, failures }))
  return rows.toSorted((a, b) => b.failures - a.failures || (a.account < b.account ? -1 : 1))
}

class Sums<Key> {
  readonly all = new Map<Key, Figures>()

  add(key: Key, figures: Figures): void {
    let sum = this.all.get(key)
    if (!sum) this.all.set(key, (sum = emptyFigures()))
    addFigures(sum, figures)
  }

  named(this: Sums<string>): (Figures & { name: string })[] {
    return Array.from(this.all, ([name, figures]) => ({ name, ...figures }))
  }
}

type Live = EdgeView['live']['models'][number]
export type LiveSum = Omit<Live, 'name'>

export interface SummedViews {
  totals: Figures
  buckets: Map<number, Figures>
  models: Map<string, Figures>
  backends: Map<string, Figures>
  accounts: Map<string, Figures>
  failing: Counted['failing']
  live: LiveSum & Record<'models' | 'backends' | 'accounts', Map<string, LiveSum>>
}

/** Exact: all edges have the same buckets and the same range. */
export function sumViews(views: readonly EdgeView[]): SummedViews {
  const totals = emptyFigures()
  const buckets = new Sums<number>()
  const named = { models: new Sums<string>(), backends: new Sums<string>(), accounts: new Sums<string>() }
  const failing = new Map<string, number>()
  for (const view of views) {
    addFigures(totals, view.totals)
    for (const { begins, ...figures } of view.buckets) buckets.add(begins, figures)
    for (const part of PARTS) for (const { name, ...figures } of view[part]) named[part].add(name, figures)
    for (const { account, failures } of view.failing) failing.set(account, (failing.get(account) ?? 0) + failures)
  }
  return {
    totals,
    buckets: buckets.all,
    models: named.models.all,
    backends: named.backends.all,
    accounts: named.accounts.all,
    failing: mostFirst(failing),
    live: sumLive(views.map(({ live }) => live)),
  }
}

const PARTS = ['models', 'backends', 'accounts'] as const

function sumLive(all: readonly EdgeView['live'][]): SummedViews['live'] {
  const sum = { requests: 0, streams: 0, models: new Map(), backends: new Map(), accounts: new Map() }
  const into = (counts: Map<string, LiveSum>, { name, requests, streams }: Live) => {
    const known = counts.get(name) ?? NONE_LIVE
    counts.set(name, { requests: known.requests + requests, streams: known.streams + streams })
  }
  for (const live of all) {
    sum.requests += live.requests
    sum.streams += live.streams
    for (const part of PARTS) for (const row of live[part]) into(sum[part], row)
  }
  return sum
}

export const NONE_LIVE: LiveSum = { requests: 0, streams: 0 }
