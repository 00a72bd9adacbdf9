/**
 * Pages of lists whose cursor is the id of an item.
 */

import { GatewayError } from '@gateway/contracts/errors'
import type { Page } from '../db/project-keys.ts'

export function toPage<Row, Item extends { id: string }>(page: Page<Row> | null, view: (row: Row) => Item) {
  if (!page) throw new GatewayError('VALIDATION_ERROR', 'after: the list has no such item', { param: 'after' })
  const data = page.items.map(view)
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: page.hasMore,
  }
}

export function unixSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1_000)
}

/** The part of an id behind its prefix; without the prefix, an id that nothing has. */
export function withoutPrefix(prefix: string, id: string): string {
  return id.startsWith(prefix) ? id.slice(prefix.length) : ''
}

/** A page of a list that names the next page's `after`. */
export function toNextPage<Row, Item>(page: Page<Row>, view: (row: Row) => Item, idOf: (item: Item) => string) {
  const data = page.items.map(view)
  const last = data.at(-1)
  const next = page.hasMore && last !== undefined ? idOf(last) : null
  return { object: 'list' as const, data, has_more: page.hasMore, next }
}
