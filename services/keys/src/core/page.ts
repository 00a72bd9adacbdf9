/**
 * A page of a list that is short enough to be read whole. It goes on after an id, even when that item is gone.
 */

interface Cursor {
  after?: string | undefined
  before?: string | undefined
  limit: number
}

interface Page<Item> {
  object: 'list'
  data: Item[]
  first_id: string | null
  last_id: string | null
  has_more: boolean
}

/** `direction`: of the ids in the list. With `before` alone the page ends there, and `has_more` counts the items before the page. */
export function pageOf<Item extends { id: string }>(
  items: readonly Item[],
  direction: 'asc' | 'desc',
  { after, before, limit }: Cursor,
): Page<Item> {
  const sign = direction === 'asc' ? 1 : -1
  const compare = (a: string, b: string) => (a < b ? -sign : a > b ? sign : 0)
  const between = items
    .filter(
      ({ id }) => (after === undefined || compare(id, after) > 0) && (before === undefined || compare(id, before) < 0),
    )
    .toSorted((a, b) => compare(a.id, b.id))
  const isBackwards = before !== undefined && after === undefined
  const data = isBackwards ? between.slice(-limit) : between.slice(0, limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: data.length < between.length,
  }
}
