/**
 * The admin keys that the keys service has proven for this edge. It proves nothing. A known key has a share of the event loop of
 * its own. An unknown one takes the share of its network.
 */

import type { AdministrationCredential } from '@gateway/contracts/administration/envelope'
import { setBounded } from './account-cache.ts'

const MOST_KEYS = 1_000
const REPORT_EVERY_MS = 100

export type KnownAdminKeys = ReturnType<typeof openKnownAdminKeys>

export function openKnownAdminKeys() {
  const known = new Map<string, true>()
  let refusals = 0
  let reportedAtMs = -Infinity
  return {
    has: (hash: string): boolean => known.has(hash),
    /** Counts a refused credential. Returns the number to report now, or null: a flood makes ten reports a second. */
    noteRefusal(nowMs: number): number | null {
      refusals++
      if (nowMs - reportedAtMs < REPORT_EVERY_MS) return null
      const count = refusals
      refusals = 0
      reportedAtMs = nowMs
      return count
    },
    /** `isLive`: by the reply of the keys service. */
    note(credential: AdministrationCredential, isLive: boolean): void {
      if (credential.kind !== 'admin_key') return
      if (isLive) setBounded(known, credential.hash, true, MOST_KEYS)
      else known.delete(credential.hash)
    },
  }
}
