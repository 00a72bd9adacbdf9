/**
 * The requests and the spend of projects in this calendar month, for dashboards. Every metering process reads the same sums, so a query
 * takes the greatest and not their sum. While PostgreSQL is away, the last sums stay.
 */

import type { OverviewReply } from '@gateway/contracts/metering-api'
import type { Logger } from '@gateway/telemetry/logger'
import type { Metrics, Reading } from '@gateway/telemetry/metrics'
import { repeat } from '@gateway/service/repeat'
import { sql } from 'kysely'
import { MOST_SERIES, OTHER, rankProjects, type ProjectSums } from './core/rank-projects.ts'
import { readOverview } from './db/overview.ts'
import type { MeteringDatabase } from './db/tables.ts'

const PAUSE_MS = 15_000
/** Some of them may be accounts of persons. */
const READ = 4 * MOST_SERIES
const DAY_SECONDS = 86_400

interface ProjectMetricsContext {
  database: MeteringDatabase
  metrics: Metrics
  logger: Logger
}

export function observeProjects({ database, metrics, logger }: ProjectMetricsContext): AsyncDisposable {
  let rows: ProjectSums[] = [{ project: OTHER, requests: 0, milliTokens: 0, nanoUsd: 0 }]
  const gauge = (name: string, what: string, value: (sums: ProjectSums) => number) => {
    const read = (): Reading => rows.map((sums) => [[sums.project], value(sums)] as const)
    metrics.observedGauge(
      name,
      `${what} this month, of the ${MOST_SERIES} projects with most spend, and \`other\``,
      read,
      ['project'],
    )
  }
  gauge('gateway_project_requests', 'served requests', ({ requests }) => requests)
  gauge('gateway_project_spend_usd', 'US dollars', ({ nanoUsd }) => nanoUsd / 1e9)
  gauge('gateway_project_spend_tokens', 'tokens of allowance', ({ milliTokens }) => milliTokens / 1e3)
  return repeat(async () => {
    try {
      rows = await readProjects(database, Date.now())
    } catch (error) {
      logger.warn({ err: error }, 'the spend of projects could not be read; the metrics keep the last one')
    }
    return PAUSE_MS
  })
}

export async function readProjects(database: MeteringDatabase, nowMs: number): Promise<ProjectSums[]> {
  const now = new Date(nowMs)
  const monthOf = (month: number) => Date.UTC(now.getUTCFullYear(), month, 1) / 1_000
  const overview = await readOverview(database, {
    from: monthOf(now.getUTCMonth()),
    to: monthOf(now.getUTCMonth() + 1),
    bucketSeconds: DAY_SECONDS,
    account: null,
    atMost: READ,
    also: [],
  })
  return rankProjects(overview, await findProjects(database, overview.accounts))
}

/** The latest request of an account says whether it is a project's. */
async function findProjects(
  database: MeteringDatabase,
  accounts: OverviewReply['accounts'],
): Promise<ReadonlySet<string>> {
  const names = accounts.map(({ name }) => name)
  const { rows } = await sql<{ account: string }>`
    select account from unnest(${names}::text[]) as account
    where (
      select is_project from metering.ledger
      where ledger.account = account.account order by request_id desc limit 1
    )`.execute(database)
  return new Set(rows.map(({ account }) => account))
}
