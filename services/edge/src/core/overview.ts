/**
 * The overview of an administrator: the ledger's sums and the edges' figures in one record. Pure.
 */

import { OVERVIEW_WINDOWS, type Overview, type OverviewWindow } from '@gateway/contracts/administration/overview'
import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { EdgeView } from '@gateway/contracts/edges-api'
import type { LedgerSums, OverviewReply } from '@gateway/contracts/metering-api'
import { quantileMs } from './latency-histogram.ts'
import { emptyFigures, type Figures } from './traffic.ts'
import { type LiveSum, NONE_LIVE, sumViews } from './view-traffic.ts'

/** In seconds since 1970. The last bucket is not over. */
export interface OverviewRange {
  from: number
  /** Exclusive. */
  to: number
  bucketSeconds: number
}

export function rangeOf(window: OverviewWindow, nowMs: number): OverviewRange {
  const { bucketSeconds, buckets } = OVERVIEW_WINDOWS[window]
  const to = (Math.floor(nowMs / 1_000 / bucketSeconds) + 1) * bucketSeconds
  return { from: to - buckets * bucketSeconds, to, bucketSeconds }
}

export interface OverviewFacts {
  window: OverviewWindow
  range: OverviewRange
  nowMs: number
  /** Null: the whole organization. */
  account: string | null
  ledger: OverviewReply
  views: readonly EdgeView[]
  knownEdges: number
  /** Of accounts that have one. */
  names: ReadonlyMap<string, string>
}

const MILLI = 1e3
const NANO = 1e9
const CLIENT_GONE = 'client_gone'

const spentOf = ({ requests, nanoUsd, milliTokens }: LedgerSums) => ({
  requests,
  spend_usd: nanoUsd / NANO,
  spend_tokens: milliTokens / MILLI,
})

const measuredOf = ({ requests, failures, duration, firstToken }: Figures) => ({
  ended: requests,
  errors: Object.entries(failures)
    .filter(([code]) => code !== CLIENT_GONE)
    .map(([code, count]) => ({ code, count }))
    .toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1)),
  clients_gone: failures[CLIENT_GONE] ?? 0,
  p50_ms: quantileMs(duration, 0.5),
  p99_ms: quantileMs(duration, 0.99),
  first_token_p50_ms: quantileMs(firstToken, 0.5),
  first_token_p99_ms: quantileMs(firstToken, 0.99),
})

const liveOf = ({ requests, streams }: LiveSum) => ({ live_requests: requests, live_streams: streams })

const NOTHING_SPENT: LedgerSums = { requests: 0, milliTokens: 0, nanoUsd: 0 }

export function overviewOf(facts: OverviewFacts): Overview {
  const { window, range, nowMs, account, ledger, views, knownEdges, names } = facts
  const edges = sumViews(views)
  const { live } = edges
  const row = <Key>(key: Key, figures: ReadonlyMap<Key, Figures>, spent: ReadonlyMap<Key, LedgerSums>) => ({
    ...spentOf(spent.get(key) ?? NOTHING_SPENT),
    ...measuredOf(figures.get(key) ?? emptyFigures()),
  })
  const models = byName(ledger.models)
  const accounts = byName(ledger.accounts)
  const buckets = new Map(ledger.buckets.map((sums) => [sums.begins, sums]))
  const ofAccount = account === null ? live : (live.accounts.get(account) ?? NONE_LIVE)
  return {
    object: 'overview',
    window,
    project_id: account === null ? null : `${PROJECT_PREFIX}${account}`,
    from: range.from,
    to: range.to,
    bucket_seconds: range.bucketSeconds,
    at: Math.floor(nowMs / 1_000),
    edges: {
      replied: views.length,
      known: Math.max(knownEdges, views.length),
      since: Math.max(range.from, ...views.map(({ since }) => since)),
    },
    ...spentOf(ledger.totals),
    ...measuredOf(edges.totals),
    ...liveOf(ofAccount),
    series: beginsOf(range).map((begins) => ({ start_time: begins, ...row(begins, edges.buckets, buckets) })),
    models: ranked(
      allOf(models, edges.models, account === null ? live.models : NONE).map((id) => ({
        id,
        ...row(id, edges.models, models),
        ...liveOf(account === null ? (live.models.get(id) ?? NONE_LIVE) : NONE_LIVE),
      })),
    ),
    backends: allOf(edges.backends, account === null ? live.backends : NONE)
      .map((id) => ({
        id,
        ...measuredOf(edges.backends.get(id) ?? emptyFigures()),
        ...liveOf(live.backends.get(id) ?? NONE_LIVE),
      }))
      .toSorted((a, b) => b.ended - a.ended || (a.id < b.id ? -1 : 1)),
    projects: ranked(
      allOf(accounts, edges.accounts).map((tag) => ({
        id: `${PROJECT_PREFIX}${tag}`,
        name: names.get(tag) ?? null,
        ...row(tag, edges.accounts, accounts),
        ...liveOf(live.accounts.get(tag) ?? NONE_LIVE),
      })),
    ),
    other_projects: othersOf(ledger),
  }
}

const NONE: ReadonlyMap<string, unknown> = new Map()

function byName(rows: readonly (LedgerSums & { name: string })[]): Map<string, LedgerSums> {
  return new Map(rows.map((sums) => [sums.name, sums]))
}

function allOf(...maps: ReadonlyMap<string, unknown>[]): string[] {
  return [...new Set(maps.flatMap((map) => [...map.keys()]))]
}

function beginsOf({ from, to, bucketSeconds }: OverviewRange): number[] {
  return Array.from({ length: (to - from) / bucketSeconds }, (_, index) => from + index * bucketSeconds)
}

interface Ranked {
  id: string
  spend_usd: number
  spend_tokens: number
  ended: number
}

function ranked<Row extends Ranked>(rows: Row[]): Row[] {
  return rows.toSorted(
    (a, b) =>
      b.spend_usd - a.spend_usd || b.spend_tokens - a.spend_tokens || b.ended - a.ended || (a.id < b.id ? -1 : 1),
  )
}

/** In the ledger's whole numbers, so that all rows add up to the totals. */
function othersOf({ totals, accounts, allAccounts }: OverviewReply): Overview['other_projects'] {
  const left = accounts.reduce(
    (sums, { requests, milliTokens, nanoUsd }) => ({
      requests: sums.requests - requests,
      milliTokens: sums.milliTokens - milliTokens,
      nanoUsd: sums.nanoUsd - nanoUsd,
    }),
    totals,
  )
  return { count: allAccounts - accounts.length, ...spentOf(left) }
}
