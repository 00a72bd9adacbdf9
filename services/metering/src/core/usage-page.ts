/**
 * The buckets and the pages of usage: a query's buckets, and the place where the page before ended. Pure.
 *
 * A page goes on after a bucket and a group of it. So a write between two pages moves no result from one to the other.
 */

import { MOST_RESULTS, type BucketWidth } from '@gateway/contracts/administration/usage'
import { GatewayError } from '@gateway/contracts/errors'

export const WIDTH_SECONDS = { '1m': 60, '1h': 3_600, '1d': 86_400 } as const satisfies Record<BucketWidth, number>

export interface PageQuery {
  bucket_width: BucketWidth
  start_time: number
  end_time?: number | undefined
  limit?: number | undefined
  page?: string | undefined
  /** The number of columns that its results are grouped by. */
  columns: number
}

export interface BucketBounds {
  usual: number
  most: number
}
export const USAGE_BUCKETS: Record<BucketWidth, BucketBounds> = {
  '1m': { usual: 60, most: 1_440 },
  '1h': { usual: 24, most: 168 },
  '1d': { usual: 7, most: 31 },
}
export const COST_BUCKETS: BucketBounds = { usual: 7, most: 180 }

/** In seconds: a day and an hour, and 31 days. */
export const KEPT_SECONDS = { '1m': 90_000, '1h': 2_678_400, '1d': Infinity } as const

/** The buckets of a page, in seconds since 1970. */
export interface Page {
  widthSeconds: number
  from: number
  /** Exclusive. */
  to: number
  /** Exclusive: of the whole query. */
  end: number
  /** The last group of `from` that the page before had; empty where it had none. */
  after: string[]
}

export interface Row {
  bucket: number
  groups: string[]
}

export const columns = ['account', 'user_id', 'key_id', 'model_asked', 'tag'] as const
export type Column = (typeof columns)[number]

export interface UsageRow extends Row {
  requests: number
  promptTokens: number
  completionTokens: number
  cachedTokens: number
  cacheWriteTokens: number
  audioPromptTokens: number
  cachedAudioTokens: number
  audioCompletionTokens: number
  units: number
  nanoUsd: number
}

export function planPage(query: PageQuery, { usual, most }: BucketBounds, nowSeconds: number): Page {
  const widthSeconds = WIDTH_SECONDS[query.bucket_width]
  const { start_time: start, end_time: end = Math.floor(nowSeconds) + 1, limit = usual } = query
  if (limit > most) throw invalid('limit', `at most ${most} for buckets of ${query.bucket_width}`)
  if (end <= start) throw invalid('end_time', 'must be after start_time')
  const first = floor(start, widthSeconds)
  if (first < nowSeconds - KEPT_SECONDS[query.bucket_width] - widthSeconds) {
    throw invalid('start_time', `usage by ${query.bucket_width} is not kept for so long; use a greater bucket_width`)
  }
  const { from, after } = query.page === undefined ? { from: first, after: [] } : readCursor(query.page)
  const endOfAll = floor(end - 1, widthSeconds) + widthSeconds
  const isOfGroups = after.length === 0 || after.length === query.columns
  if (!isOfGroups || from < first || from >= endOfAll || from % widthSeconds !== 0) {
    throw invalid('page', 'is of another query')
  }
  return { widthSeconds, from, to: Math.min(endOfAll, from + limit * widthSeconds), end: endOfAll, after }
}

export interface Bucket<Result> {
  object: 'bucket'
  start_time: number
  end_time: number
  results: Result[]
}

/** `read`: the rows of some buckets in their order, one more than a page has at the most. */
export async function fillPage<Found extends Row, Result>(
  page: Page,
  read: (part: { from: number; to: number; after: string[]; atMost: number }) => Promise<Found[]>,
  resultOf: (row: Found) => Result,
  /** A bucket has few results: one statement reads all buckets. */
  hasFew: boolean,
) {
  const data: Bucket<Result>[] = []
  let { from, after } = page
  let left = MOST_RESULTS
  // Else few buckets first: one of them may fill the page.
  for (let count = hasFew ? Infinity : 1; from < page.to; count *= 2) {
    const to = Math.min(page.to, from + count * page.widthSeconds)
    const rows = await read({ from, to, after, atMost: left + 1 })
    const taken = rows.slice(0, left)
    const last = rows.length > left ? taken.at(-1) : undefined
    data.push(...bucketsOf(page, { from, to: last ? last.bucket + page.widthSeconds : to }, taken, resultOf))
    if (last) return pageOf(data, { from: last.bucket, after: last.groups })
    left -= taken.length
    from = to
    after = []
    if (left === 0) break
  }
  return pageOf(data, from < page.end ? { from, after: [] } : null)
}

function pageOf<Result>(data: Bucket<Result>[], next: Cursor | null) {
  return {
    object: 'page' as const,
    data,
    has_more: next !== null,
    next_page: next && writeCursor(next),
  }
}

function bucketsOf<Found extends Row, Result>(
  { widthSeconds }: Page,
  { from, to }: { from: number; to: number },
  rows: readonly Found[],
  resultOf: (row: Found) => Result,
): Bucket<Result>[] {
  const byBucket = Map.groupBy(rows, ({ bucket }) => bucket)
  return Array.from({ length: (to - from) / widthSeconds }, (_, index) => {
    const start = from + index * widthSeconds
    const results = (byBucket.get(start) ?? []).map(resultOf)
    return { object: 'bucket', start_time: start, end_time: start + widthSeconds, results }
  })
}

interface Cursor {
  from: number
  after: string[]
}

function writeCursor({ from, after }: Cursor): string {
  return `page_${Buffer.from(JSON.stringify([from, ...after])).toString('base64url')}`
}

function readCursor(text: string): Cursor {
  try {
    const value: unknown = JSON.parse(Buffer.from(text.replace(/^page_/, ''), 'base64url').toString())
    if (Array.isArray(value)) {
      const [from, ...after] = value as unknown[]
      if (Number.isSafeInteger(from) && after.every(isGroup)) {
        return { from: from as number, after }
      }
    }
  } catch {
    // It is no page of ours, as below.
  }
  throw invalid('page', 'is no next_page of this call')
}

/** No group that the database holds has a NUL. */
function isGroup(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0')
}

function floor(time: number, widthSeconds: number): number {
  return Math.floor(time / widthSeconds) * widthSeconds
}

export function invalid(param: string, message: string): GatewayError {
  return new GatewayError('VALIDATION_ERROR', `${param}: ${message}`, { param })
}
