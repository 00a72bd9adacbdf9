import { expect, test } from 'vitest'
import { operations } from '@gateway/contracts/administration/operations'
import type { EdgeView } from '@gateway/contracts/edges-api'
import { overviewOf, type OverviewFacts, rangeOf } from './overview.ts'
import { emptyFigures } from './traffic.ts'

const NOW_MS = Date.parse('2026-11-29T13:37:42Z')
const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()

test.each([
  ['hour', 60, '2026-11-29T12:38:00.000Z', '2026-11-29T13:38:00.000Z'],
  ['day', 24, '2026-11-28T14:00:00.000Z', '2026-11-29T14:00:00.000Z'],
  ['month', 31, '2026-10-30T00:00:00.000Z', '2026-11-30T00:00:00.000Z'],
] as const)('the last %s is %i whole buckets, the last of which is not over', (window, buckets, from, to) => {
  const range = rangeOf(window, NOW_MS)
  expect([iso(range.from), iso(range.to)]).toEqual([from, to])
  expect((range.to - range.from) / range.bucketSeconds).toBe(buckets)
})

const range = rangeOf('hour', NOW_MS)
const ten = { first: 41, counts: [10] }
const figures = { ...emptyFigures(), requests: 12, failures: { quota_exceeded: 1, client_gone: 1 }, duration: ten }
const view: EdgeView = {
  edge: 'a',
  since: range.from + 600,
  live: {
    requests: 3,
    streams: 2,
    models: [{ name: 'svc-fast', requests: 3, streams: 2 }],
    backends: [{ name: 'gpu-a', requests: 2, streams: 2 }],
    accounts: [{ name: 'Tag12345', requests: 1, streams: 1 }],
  },
  totals: figures,
  buckets: [{ begins: range.from, ...figures }],
  models: [{ name: 'svc-fast', ...figures }],
  backends: [{ name: 'gpu-a', ...figures }],
  accounts: [{ name: 'Tag12345', ...figures }],
  failing: [],
}
const facts: OverviewFacts = {
  window: 'hour',
  range,
  nowMs: NOW_MS,
  account: null,
  ledger: {
    totals: { requests: 10, milliTokens: 1_500, nanoUsd: 3_010_000_000 },
    buckets: [{ begins: range.from, requests: 10, milliTokens: 1_500, nanoUsd: 3_010_000_000 }],
    models: [
      { name: 'svc-fast', requests: 6, milliTokens: 1_500, nanoUsd: 1_000_000_000 },
      { name: 'svc-core', requests: 4, milliTokens: 0, nanoUsd: 2_010_000_000 },
    ],
    accounts: [{ name: 'Tag12345', requests: 9, milliTokens: 1_500, nanoUsd: 3_000_000_000 }],
    allAccounts: 3,
  },
  views: [view, { ...view, edge: 'b', since: range.from - 600 }],
  knownEdges: 3,
  names: new Map([['Tag12345', 'Search']]),
}

test('an overview adds the edges together, and has the whole contract', () => {
  const overview = overviewOf(facts)
  expect(operations['overview.show'].output.parse(overview)).toEqual(overview)
  expect(overview).toMatchObject({
    edges: { replied: 2, known: 3, since: range.from + 600 },
    requests: 10,
    spend_usd: 3.01,
    spend_tokens: 1.5,
    ended: 24,
    errors: [{ code: 'quota_exceeded', count: 2 }],
    clients_gone: 2,
    live_requests: 6,
    live_streams: 4,
    models: [
      { id: 'svc-core', spend_usd: 2.01, ended: 0, p50_ms: null },
      { id: 'svc-fast', spend_usd: 1, ended: 24, live_streams: 4 },
    ],
    backends: [{ id: 'gpu-a', ended: 24, live_requests: 4 }],
    projects: [{ id: 'proj_Tag12345', name: 'Search', spend_usd: 3, live_streams: 2 }],
    other_projects: { count: 2, requests: 1, spend_usd: 0.01, spend_tokens: 0 },
  })
  expect(overview.series).toHaveLength(60)
  expect(overview.series[0]).toMatchObject({ start_time: range.from, requests: 10, ended: 24 })
  expect(overview.series[1]).toMatchObject({ requests: 0, ended: 0, p99_ms: null })
})

test('the overview of a project says nothing about the requests of others that run', () => {
  const ofProject = { ...view, models: [], backends: [] }
  const overview = overviewOf({ ...facts, account: 'Tag12345', views: [ofProject] })
  expect(overview).toMatchObject({ project_id: 'proj_Tag12345', live_requests: 1, live_streams: 1, backends: [] })
  expect(overview.models.map(({ live_requests }) => live_requests)).toEqual([0, 0])
})

test('without any edge the figures of the ledger remain', () => {
  expect(overviewOf({ ...facts, views: [], knownEdges: 1 })).toMatchObject({
    edges: { replied: 0, known: 1, since: range.from },
    requests: 10,
    ended: 0,
    p50_ms: null,
  })
})
