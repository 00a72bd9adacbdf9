/**
 * Lists of the administration API, read to their end.
 */

interface Page<Item> {
  data: Item[]
  last_id: string | null
  has_more: boolean
}

export async function readAll<Item>(read: (after: string | undefined) => Promise<Page<Item>>): Promise<Item[]> {
  const items: Item[] = []
  let after: string | undefined
  for (;;) {
    const page = await read(after)
    items.push(...page.data)
    if (!page.has_more || page.last_id === null) return items
    after = page.last_id
  }
}

export function dateOf(unixTime: number): string {
  return new Date(unixTime * 1000).toISOString().slice(0, 10)
}
