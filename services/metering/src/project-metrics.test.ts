import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { createMetrics } from '@gateway/telemetry/metrics'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../test/ledger.ts'
import { IN_WINDOW_MS, messageOf, usageEvent } from '../test/usage-events.ts'
import { consumeUsage } from './consumers/usage.ts'
import { MOST_SERIES, rankProjects } from './core/rank-projects.ts'
import { observeProjects, readProjects } from './project-metrics.ts'

let postgres: PostgresServer
let ledger: TestLedger
beforeAll(async () => {
  postgres = await startPostgres()
  ledger = await openLedger(postgres)
})
afterAll(async () => {
  await ledger[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const ofMonth = (account: string, tokens: number, isProject?: true) => usageEvent({ account, tokens, isProject })

test('the metrics name projects, and neither persons nor guests; all of them together are all usage', async () => {
  await consumeUsage(ledger, [
    messageOf(
      ofMonth('search01', 1_000, true),
      ofMonth('search01', 500, true),
      ofMonth('ads00001', 2_000, true),
      ofMonth('person01', 9_000),
      // Of another month.
      usageEvent({ account: 'ads00001', isProject: true, window: '2024-12', startedAtMs: Date.UTC(2024, 11, 31) }),
    ),
  ])
  const rows = await readProjects(ledger.database, IN_WINDOW_MS)
  expect(rows.map(({ project, requests, milliTokens }) => [project, requests, milliTokens])).toEqual([
    ['proj_ads00001', 1, 3_000_000],
    ['proj_search01', 2, 2_250_000],
    ['other', 1, 13_500_000],
  ])
})

test('before the first look at the ledger, and without usage, there is one series', async () => {
  const metrics = createMetrics({ service: 'metering' })
  await using _ = observeProjects({ database: ledger.database, metrics, logger: ledger.logger })
  const lines = metrics.text().split('\n')
  expect(lines.filter((line) => /^gateway_project_\w+\{/.test(line))).toEqual([
    'gateway_project_requests{service="metering",project="other"} 0',
    'gateway_project_spend_usd{service="metering",project="other"} 0',
    'gateway_project_spend_tokens{service="metering",project="other"} 0',
  ])
})

test('any number of projects has a bounded number of series, whose sum is all usage', () => {
  const accounts = Array.from({ length: 3 * MOST_SERIES }, (_, index) => ({
    name: `proj${String(index).padStart(4, '0')}`,
    requests: 2,
    milliTokens: 1_000,
    nanoUsd: 5_000 - index,
  }))
  const sum = (of: readonly { nanoUsd: number }[]) => of.reduce((total, { nanoUsd }) => total + nanoUsd, 0)
  const totals = { requests: 400, milliTokens: 200_000, nanoUsd: sum(accounts) + 77 }
  const reply = { totals, buckets: [], models: [], accounts, allAccounts: 200 }
  const rows = rankProjects(reply, new Set(accounts.map(({ name }) => name)))
  expect(rows).toHaveLength(MOST_SERIES + 1)
  expect(sum(rows)).toBe(totals.nanoUsd)
  expect(rows[0]!.project).toBe('proj_proj0000')
  expect(rows.at(-1)).toMatchObject({ project: 'other', requests: 400 - 2 * MOST_SERIES })
})
