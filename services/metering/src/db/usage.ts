/**
 * Usage of the organization by bucket and group, from the sums beside the ledger and the notes of later changes (`010-usage.sql`).
 */

import type { BucketWidth } from '@gateway/contracts/administration/usage'
import { sql } from 'kysely'
import { type Column, columns, type UsageRow, WIDTH_SECONDS } from '../core/usage-page.ts'
import type { MeteringDatabase } from './tables.ts'

export interface UsageQuery {
  width: BucketWidth
  /** `requests`: of the models that are neither embeddings nor images. */
  kind: 'chat' | 'embeddings' | 'images' | 'requests' | `tool:${string}`
  groups: readonly Column[]
  /** Only usage with one of these values. */
  only: { [Name in Column]?: readonly string[] | undefined }
}

/** Buckets from `from` up to `to`, in seconds; of the first one the groups that come after `after`. */
export interface Part {
  from: number
  to: number
  after: readonly string[]
  atMost: number
}

const KINDS = {
  requests: sql`kind not like 'tool:%'`,
  chat: sql`kind not like 'tool:%' and kind not in ('embeddings', 'images')`,
} as const

/** The relation with the fewest rows that has these columns. Its part of the organization names users or tags. */
function sourceOf({ width, groups, only }: Omit<UsageQuery, 'kind'>) {
  const needs = (name: Column) => groups.includes(name) || only[name] !== undefined
  if (width !== '1d') return { table: sql`metering.usage_of_minutes`, columnOf: {} }
  if (needs('account') || needs('key_id')) {
    return { table: needs('tag') ? sql`metering.usage_of_tags` : sql`metering.usage_of_days`, columnOf: {} }
  }
  const part = needs('tag') ? 'tag' : needs('user_id') ? 'user' : 'all'
  const columnOf: { [Name in Column]?: string } = { user_id: 'name', tag: 'name' }
  return { table: sql`(select * from metering.usage_in_all where part = ${part}) as used`, columnOf }
}

export async function readUsage(
  database: MeteringDatabase,
  { width, kind, groups, only }: UsageQuery,
  { from, to, after, atMost }: Part,
): Promise<UsageRow[]> {
  const isByDay = width === '1d'
  const { table, columnOf } = sourceOf({ width, groups, only })
  const time = sql.raw(isByDay ? 'day' : 'begins')
  const bucket = width === '1h' ? sql`date_trunc('hour', begins, 'UTC')` : time
  const at = (seconds: number) => {
    const moment = sql`to_timestamp(${seconds}::float8)`
    return isByDay ? sql`(${moment} at time zone 'UTC')::date` : moment
  }
  const names = groups.map((name) => sql.ref(columnOf[name] ?? name))
  const ofKind = kind === 'requests' || kind === 'chat' ? KINDS[kind] : sql`kind = ${kind}`
  const filters = columns.flatMap((name) => {
    const values = only[name]
    return values ? [sql`and ${sql.ref(columnOf[name] ?? name)} = any(${values}::text[])`] : []
  })
  const goesOn =
    after.length === 0
      ? sql``
      : sql`and (${time} >= ${at(from + WIDTH_SECONDS[width])} or (${sql.join(names)}) > (${sql.join(after)}))`
  const { rows } = await sql<UsageRow>`
    select extract(epoch from ${bucket})::float8 as bucket, array[${sql.join(names)}]::text[] as groups,
      sum(requests)::float8 as requests, sum(prompt_tokens)::float8 as "promptTokens",
      sum(completion_tokens)::float8 as "completionTokens", sum(cached_tokens)::float8 as "cachedTokens",
      sum(cache_write_tokens)::float8 as "cacheWriteTokens", sum(audio_prompt_tokens)::float8 as "audioPromptTokens",
      sum(cached_audio_tokens)::float8 as "cachedAudioTokens",
      sum(audio_completion_tokens)::float8 as "audioCompletionTokens", sum(units)::float8 as units,
      coalesce(sum(charge) filter (where unit = 'usd'), 0)::float8 as "nanoUsd"
    from ${table}
    where ${time} >= ${at(from)} and ${time} < ${at(to)} and ${ofKind} ${sql.join(filters, sql` `)} ${goesOn}
    group by ${sql.join([bucket, ...names])} having sum(requests) > 0
    order by ${sql.join([bucket, ...names])} limit ${atMost}`.execute(database)
  return rows
}
