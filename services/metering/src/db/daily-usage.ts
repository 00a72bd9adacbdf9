/**
 * Accounts' usage by day. The database keeps sums beside the ledger (`migrations/002-daily-usage.sql`), so a query reads some rows a day
 * at any number of requests. Usage by session has sums of its own (`008-sessions.sql`).
 */

import type {
  AccountUsageRequest,
  UsageByAccountReply,
  UsageByAccountRequest,
  UsageFigures,
  UsageGroup,
} from '@gateway/contracts/metering-api'
import { MOST_SESSIONS } from '@gateway/contracts/usage-api'
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
  day: { of: sql`metering.daily_usage`, name: sql`to_char(day, 'YYYY-MM-DD')`, order: sql`name` },
  model: { of: sql`metering.daily_usage`, name: sql`model_asked`, order: DEAREST_FIRST },
  session: { of: sql`metering.session_usage`, name: sql`session_id`, order: DEAREST_FIRST },
  agent: { of: sql`metering.session_usage`, name: sql`coalesce(nullif(agent_id, ''), 'main')`, order: DEAREST_FIRST },
} as const

export async function readAccountUsage(
  database: MeteringDatabase,
  { account, groupBy, session, ...days }: AccountUsageRequest,
): Promise<UsageGroup[]> {
  const { of, name, order } = GROUPING[groupBy]
  const isBySession = groupBy === 'session' || groupBy === 'agent'
  const ofSession = isBySession && session !== undefined ? sql`and session_id = ${session}` : sql``
  const bounded = isBySession ? sql`limit ${MOST_SESSIONS}` : sql``
  const { rows } = await sql<UsageGroup>`
    select ${name} as name, ${figures('bigint')} from ${of}
    where account = ${account} and ${between(days)} ${ofSession}
    group by 1 having sum(requests) > 0 order by ${order} ${bounded}`.execute(database)
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
