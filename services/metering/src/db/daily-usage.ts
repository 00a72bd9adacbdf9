/**
 * What accounts used on days: sums of the rows that the database keeps beside the ledger (`migrations/002-daily-usage.sql`),
 * so a question reads some rows a day, however many requests there were.
 */

import type { Queryable } from '@gateway/postgres/database'
import type {
  AccountUsageRequest,
  UsageByAccountReply,
  UsageByAccountRequest,
  UsageFigures,
  UsageGroup,
} from '@gateway/contracts/metering-api'

/** `type`: bigint is exact or an error, float8 is rounded where it must be. */
const figures = (type: 'bigint' | 'float8') => `
  coalesce(sum(requests), 0)::${type} as requests,
  coalesce(sum(prompt_tokens), 0)::${type} as "promptTokens",
  coalesce(sum(completion_tokens), 0)::${type} as "completionTokens",
  coalesce(sum(cached_tokens), 0)::${type} as "cachedTokens",
  coalesce(sum(charge) filter (where unit = 'tokens'), 0)::${type} as "milliTokens",
  coalesce(sum(charge) filter (where unit = 'usd'), 0)::${type} as "nanoUsd"`

/** `to_date` takes years that the type's own reading refuses. */
const BETWEEN = `day between to_date($1, 'YYYY-MM-DD') and to_date($2, 'YYYY-MM-DD')`
const DEAREST_FIRST = `"nanoUsd" desc, "milliTokens" desc, name`

const GROUPING = {
  day: { name: `to_char(day, 'YYYY-MM-DD')`, order: 'name' },
  model: { name: 'model_asked', order: DEAREST_FIRST },
} as const

export async function readAccountUsage(
  database: Queryable,
  { account, from, to, groupBy }: AccountUsageRequest,
): Promise<UsageGroup[]> {
  const { name, order } = GROUPING[groupBy]
  const { rows } = await database.query<UsageGroup>(
    `select ${name} as name, ${figures('bigint')} from metering.daily_usage
     where account = $3 and ${BETWEEN}
     group by 1 having sum(requests) > 0 order by ${order}`,
    [from, to, account],
  )
  return rows
}

export async function readUsageByAccount(
  database: Queryable,
  { from, to, atMost }: UsageByAccountRequest,
): Promise<UsageByAccountReply> {
  const { rows: groups } = await database.query<UsageGroup>(
    `select account as name, ${figures('float8')} from metering.daily_usage
     where ${BETWEEN}
     group by 1 having sum(requests) > 0 order by ${DEAREST_FIRST} limit $3`,
    [from, to, atMost],
  )
  const { rows } = await database.query<UsageFigures & { accounts: number }>(
    `select count(distinct account) as accounts, ${figures('float8')} from metering.daily_usage where ${BETWEEN}`,
    [from, to],
  )
  const { accounts, ...totals } = rows[0]!
  return { groups, accounts, totals }
}
