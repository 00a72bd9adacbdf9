/**
 * Records with their gaps filled. A record without gaps is not copied, so that its own bytes can travel on.
 */

import type { JsonObject } from './plain-answer.ts'
import { isObject } from './read-usage.ts'

/** Null where there are none. */
export function filled(record: JsonObject, gaps: JsonObject): JsonObject | null {
  return isEmpty(gaps) ? null : { ...record, ...gaps }
}

/** Null where each item is whole. Another kind of value than a list is for others to judge. */
export function filledItems(
  items: unknown,
  gapsOf: (item: JsonObject, position: number) => JsonObject | null,
): unknown[] | null {
  if (!Array.isArray(items)) return null
  let isChanged = false
  const whole = items.map((item: unknown, position) => {
    const gaps = isObject(item) ? gapsOf(item, position) : null
    if (gaps === null || isEmpty(gaps)) return item
    isChanged = true
    return { ...(item as JsonObject), ...gaps }
  })
  return isChanged ? whole : null
}

export function isEmpty(gaps: JsonObject): boolean {
  for (const _ in gaps) return false
  return true
}
