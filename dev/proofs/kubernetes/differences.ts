/**
 * Finds the fields of a sent object that the server changed.
 */

import { isDeepStrictEqual } from 'node:util'

/** Fields that were sent and are not there, or are there with another value. The server's additions are its own. */
export function differences(sent: unknown, live: unknown, path: string): string[] {
  if (sent === null || sent === undefined || isDeepStrictEqual(sent, live)) return []
  if (typeof sent !== 'object' || typeof live !== 'object' || live === null)
    return [`${path}: ${JSON.stringify(sent)} became ${JSON.stringify(live)}`]
  return Object.entries(sent).flatMap(([field, value]) =>
    differences(value, (live as Record<string, unknown>)[field], `${path}/${field}`),
  )
}
