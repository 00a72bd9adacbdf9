/**
 * What an account used on days: sums of the rows that the database keeps beside the ledger (`migrations/002-daily-usage.sql`),
 * so a question reads some rows a day, however many requests there were.
 */

import type { Queryable } from '@gateway/postgres/database'
import type { AccountUsageRequest, UsageGroup } from '@gateway/contracts/metering-api'

const FIGURES = `sum(requests)::bigint as requests,
  sum(prompt_tokens)::bigint as "promptTokens",
  sum(completion_tokens)::bigint as "completionTokens",
  sum(cached_tokens)::bigint as "cachedTokens",
  coalesce(sum(charge) filter (where unit = 'tokens'), 0)::bigint as "milliTokens",
  coalesce(sum(charge) filter (where unit = 'usd'), 0)::bigint as "nanoUsd"`

/** `to_date` takes years that the type's own reading refuses. */
const BETWEEN = `day between to_date($1, 'YYYY-MM-DD') and to_date($2, 'YYYY-MM-DD')`

const GROUPING = {
  day: { name: `to_char(day, 'YYYY-MM-DD')`, order: 'name' },
  model: { name: 'model_asked', order: `"nanoUsd" desc, "milliTokens" desc, name` },
} as const

export async function readAccountUsage(
  database: Queryable,
  { account, from, to, groupBy }: AccountUsageRequest,
): Promise<UsageGroup[]> {
  const { name, order } = GROUPING[groupBy]
  const { rows } = await database.query<UsageGroup>(
    `select ${name} as name, ${FIGURES} from metering.daily_usage
     where account = $3 and ${BETWEEN}
     group by 1 having sum(requests) > 0 order by ${order}`,
    [from, to, account],
  )
  return rows
}
