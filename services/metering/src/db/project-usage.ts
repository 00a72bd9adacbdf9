/**
 * The usage of one project between two days, from the sums beside the ledger and the notes of later changes (`010-usage.sql`).
 */

import type { ProjectUsageGrouping } from '@gateway/contracts/administration/project-views'
import { sql } from 'kysely'
import type { MeteringDatabase } from './tables.ts'

export interface ProjectFigures {
  requests: number
  promptTokens: number
  completionTokens: number
  milliTokens: number
  nanoUsd: number
}

export interface ProjectUsageQuery {
  group_by: ProjectUsageGrouping
}

const NAMES = {
  day: sql`to_char(day, 'YYYY-MM-DD')`,
  model: sql`model_asked`,
  api_key: sql`key_id`,
  user: sql`user_id`,
  tag: sql`tag`,
} as const satisfies Record<ProjectUsageGrouping, unknown>

const FIGURES = sql`
  sum(requests)::float8 as requests, sum(prompt_tokens)::float8 as "promptTokens",
  sum(completion_tokens)::float8 as "completionTokens",
  coalesce(sum(charge) filter (where unit = 'tokens'), 0)::float8 as "milliTokens",
  coalesce(sum(charge) filter (where unit = 'usd'), 0)::float8 as "nanoUsd"`

/** Days in order, all others by their cost. A request has a row for each of its tags, so tags have no total. */
export async function readProjectUsage(
  database: MeteringDatabase,
  {
    account,
    from,
    to,
    group_by,
    atMost,
  }: ProjectUsageQuery & { account: string; from: string; to: string; atMost: number },
): Promise<{ rows: (ProjectFigures & { name: string })[]; totals: ProjectFigures | null }> {
  const isByTag = group_by === 'tag'
  const table = isByTag ? sql`metering.usage_of_tags` : sql`metering.usage_of_days`
  const order = group_by === 'day' ? sql`name` : sql`"nanoUsd" desc, "milliTokens" desc, requests desc, name`
  const { rows: found } = await sql<ProjectFigures & { name: string | null; isTotal: number }>`
    with grouped as (
      select ${NAMES[group_by]} as name, grouping(${NAMES[group_by]}) as "isTotal", ${FIGURES}
      from ${table}
      where account = ${account} and kind not like 'tool:%'
        and day between to_date(${from}, 'YYYY-MM-DD') and to_date(${to}, 'YYYY-MM-DD')
      group by grouping sets ((${NAMES[group_by]}), ()) having sum(requests) > 0
    )
    select * from grouped order by "isTotal" desc, ${order} limit ${atMost + 1}`.execute(database)
  const bare = ({ isTotal: _isTotal, ...row }: (typeof found)[number]) => ({ ...row, name: row.name ?? '' })
  const total = found.find(({ isTotal }) => isTotal === 1)
  const { name: _name, ...figures } = total ? bare(total) : { name: '', ...NOTHING }
  return { rows: found.filter(({ isTotal }) => isTotal === 0).map(bare), totals: isByTag ? null : figures }
}

const NOTHING: ProjectFigures = { requests: 0, promptTokens: 0, completionTokens: 0, milliTokens: 0, nanoUsd: 0 }
