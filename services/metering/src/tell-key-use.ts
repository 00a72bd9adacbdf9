/**
 * Tells the keys service when keys were last used, once a minute for each key at the most. Nothing depends on it, so it
 * is a broadcast: a listener that is away misses a minute and holds up nobody.
 */

import type { Bus } from '@gateway/bus/port'
import type { KeysUsed } from '@gateway/contracts/developer-keys-api'
import { subjects } from '@gateway/contracts/subjects'
import type { Report } from './core/read-reports.ts'

export interface KeyUse {
  tell(reports: readonly Report[]): void
}

const MINUTE_MS = 60_000

export function createKeyUse(bus: Bus, now: () => number = Date.now): KeyUse {
  let minute = 0
  let told = new Set<string>()

  return {
    tell(reports) {
      const thisMinute = Math.floor(now() / MINUTE_MS)
      if (thisMinute !== minute) told = new Set()
      minute = thisMinute
      const uses = new Map<string, number>()
      for (const { event } of reports) {
        if (!told.has(event.keyId)) uses.set(event.keyId, Math.max(event.endedAtMs, uses.get(event.keyId) ?? 0))
      }
      if (uses.size === 0) return
      for (const keyId of uses.keys()) told.add(keyId)
      const word: KeysUsed = { uses: [...uses].map(([keyId, usedAtMs]) => ({ keyId, usedAtMs })) }
      bus.broadcast(subjects.keysUsed, Buffer.from(JSON.stringify(word)))
    },
  }
}
