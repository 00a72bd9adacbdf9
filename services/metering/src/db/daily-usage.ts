/**
 * Accounts' usage by day. The database keeps sums beside the ledger (`migrations/002-daily-usage.sql`), so a query reads some rows a day
 * at any number of requests.
 */

import type {
  AccountUsageRequest,
  UsageByAccountReply,
  UsageByAccountRequest,
  UsageFigures,
  UsageGroup,
} from '@gateway/contracts/metering-api'
import { sql } from 'kysely'
import type { MeteringDatabase } from './tables.ts'

/** `type`: bigint is exact or an error, float8 is rounded where it must be. */
const figures = (type: 'bigint' | 'float8') =>
  sql.raw(`
  coalesce(sum(requests), 0)::${type} as requests,
  coalesce(sum(prompt_tokens), 0)::${type} as "promptTokens",
  coalesce(sum(completion_tokens), 0)::${type} as "completionTokens",
  coalesce(sum(cached_tokens), 0)::${type} as "cachedTokens",
  coalesce(sum(charge) filter (where unit = 'tokens'), 0)::${type} as "milliTokens",
  coalesce(sum(charge) filter (where unit = 'usd'), 0)::${type} as "nanoUsd"`)

/** `to_date` takes years that the type's own reading refuses. */
const between = ({ from, to }: { from: string; to: string }) =>
  sql`day between to_date(${from}, 'YYYY-MM-DD') and to_date(${to}, 'YYYY-MM-DD')`

const DEAREST_FIRST = sql`"nanoUsd" desc, "milliTokens" desc, name`

const GROUPING = {
  day: { name: sql`to_char(day, 'YYYY-MM-DD')`, order: sql`name` },
  model: { name: sql`model_asked`, order: DEAREST_FIRST },
} as const

export async function readAccountUsage(
  database: MeteringDatabase,
  { account, groupBy, ...days }: AccountUsageRequest,
): Promise<UsageGroup[]> {
  const { name, order } = GROUPING[groupBy]
  const { rows } = await sql<UsageGroup>`
    select ${name} as name, ${figures('bigint')} from metering.daily_usage
    where account = ${account} and ${between(days)}
    group by 1 having sum(requests) > 0 order by ${order}`.execute(database)
  return rows
}

export async function readUsageByAccount(
  database: MeteringDatabase,
  { atMost, ...days }: UsageByAccountRequest,
): Promise<UsageByAccountReply> {
  const { rows: groups } = await sql<UsageGroup>`
    select account as name, ${figures('float8')} from metering.daily_usage where ${between(days)}
    group by 1 having sum(requests) > 0 order by ${DEAREST_FIRST} limit ${atMost}`.execute(database)
  const { rows } = await sql<UsageFigures & { accounts: number }>`
    select count(distinct account) as accounts, ${figures('float8')} from metering.daily_usage
    where ${between(days)}`.execute(database)
  const { accounts, ...totals } = rows[0]!
  return { groups, accounts, totals }
}
