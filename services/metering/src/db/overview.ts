/**
 * The ledger's sums of an overview: in all, by bucket, by model and by account. One statement reads them, so they are of one moment and
 * add up. Sums by day of the organization have a table with few rows, and so have those of accounts (`013-usage-of-accounts.sql`).
 */

import type { LedgerSums, OverviewReply, OverviewRequest } from '@gateway/contracts/metering-api'
import { sql, type RawBuilder } from 'kysely'
import type { MeteringDatabase } from './tables.ts'

interface SumRow extends LedgerSums {
  part: 'total' | 'bucket' | 'model' | 'account'
  /** The bucket's begin in seconds, the model or the account; empty in the total. */
  name: string
  allAccounts: number
}

const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400
const NO_TOOL = sql`kind not like 'tool:%'`
const MILLI_TOKENS = sql`coalesce(sum(charge) filter (where unit = 'tokens'), 0)`
const NANO_USD = sql`coalesce(sum(charge) filter (where unit = 'usd'), 0)`

export async function readOverview(database: MeteringDatabase, request: OverviewRequest): Promise<OverviewReply> {
  const { rows } = await sql<SumRow>`
    with sums as (${sumsOf(request)}),
    ranked as (
      select *, count(*) over (partition by part) as named,
        row_number() over (partition by part order by nano_usd desc, milli_tokens desc, name) as by_charge,
        row_number() over (partition by part order by requests desc, name) as by_requests
      from sums
    )
    select part, name, requests::float8 as requests, milli_tokens::float8 as "milliTokens", nano_usd::float8 as "nanoUsd",
      named::float8 as "allAccounts"
    from ranked
    where part <> 'account' or by_charge <= ${request.atMost} or by_requests <= ${request.atMost}
      or name = any(${request.also}::text[])
    order by part, by_charge`.execute(database)
  const of = (part: SumRow['part']) => rows.filter((row) => row.part === part)
  const buckets = of('bucket').map((row) => ({ begins: Number(row.name), ...sums(row) }))
  return {
    totals: sums(of('total')[0]!),
    buckets: buckets.toSorted((a, b) => a.begins - b.begins),
    models: of('model').map(named),
    accounts: of('account').map(named),
    allAccounts: of('account')[0]?.allAccounts ?? 0,
  }
}

function sums({ requests, milliTokens, nanoUsd }: SumRow): LedgerSums {
  return { requests, milliTokens, nanoUsd }
}

function named(row: SumRow) {
  return { name: row.name, ...sums(row) }
}

function sumsOf(request: OverviewRequest): RawBuilder<unknown> {
  const { bucketSeconds, account } = request
  const moments = { from: sql`to_timestamp(${request.from}::float8)`, to: sql`to_timestamp(${request.to}::float8)` }
  if (bucketSeconds < DAY_SECONDS) {
    const bucket = bucketSeconds === HOUR_SECONDS ? sql`date_trunc('hour', begins, 'UTC')` : sql`begins`
    const rows = sql`metering.usage_of_minutes where begins >= ${moments.from} and begins < ${moments.to}`
    return groupedBy(bucket, rows, account)
  }
  const day = (moment: RawBuilder<unknown>) => sql`(${moment} at time zone 'UTC')::date`
  const isInRange = sql`day >= ${day(moments.from)} and day < ${day(moments.to)}`
  const bucket = sql`day::timestamp at time zone 'UTC'`
  if (account !== null) return groupedBy(bucket, sql`metering.usage_of_days where ${isInRange}`, account)
  return sql`
    select case when grouping(model_asked) = 0 then 'model' when grouping(day) = 0 then 'bucket' else 'total' end as part,
      case when grouping(model_asked) = 0 then model_asked when grouping(day) = 0
        then extract(epoch from ${bucket})::bigint::text else '' end as name,
      coalesce(sum(requests), 0) as requests, ${MILLI_TOKENS} as milli_tokens, ${NANO_USD} as nano_usd
    from metering.usage_in_all where part = 'all' and ${isInRange} and ${NO_TOOL}
    group by grouping sets ((), (day), (model_asked))
    having sum(requests) > 0 or grouping(day, model_asked) = 3
    union all
    select 'account', account, sum(requests), ${MILLI_TOKENS}, ${NANO_USD}
    from metering.usage_of_accounts where ${isInRange}
    group by account having sum(requests) > 0`
}

/** `rows`: a relation and its condition. */
function groupedBy(bucket: RawBuilder<unknown>, rows: RawBuilder<unknown>, account: string | null) {
  const isWanted = account === null ? sql`` : sql`and account = ${account}`
  return sql`
    select case when grouping(account) = 0 then 'account' when grouping(model_asked) = 0 then 'model'
        when grouping(bucket) = 0 then 'bucket' else 'total' end as part,
      case when grouping(account) = 0 then account when grouping(model_asked) = 0 then model_asked
        when grouping(bucket) = 0 then extract(epoch from bucket)::bigint::text else '' end as name,
      coalesce(sum(requests), 0) as requests, ${MILLI_TOKENS} as milli_tokens, ${NANO_USD} as nano_usd
    from (select ${bucket} as bucket, * from ${rows} and ${NO_TOOL} ${isWanted}) as used
    group by grouping sets ((), (bucket), (model_asked), (account))
    having sum(requests) > 0 or grouping(bucket, model_asked, account) = 7`
}
