/**
 * Tells the keys service when keys were last used, once a minute for each key at the most. Nothing depends on it, so it
 * is a broadcast: a listener that is away misses a minute and holds up nobody.
 */

import type { Bus } from '@gateway/bus/port'
import { talkAs } from '@gateway/service/talk-as'
import type { Report } from './core/read-reports.ts'

export interface KeyUse {
  tell(reports: readonly Report[]): void
}

const MINUTE_MS = 60_000

export function createKeyUse(bus: Bus, now: () => number = Date.now): KeyUse {
  const metering = talkAs('metering', bus)
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
      metering.tell('keysUsed', { uses: [...uses].map(([keyId, usedAtMs]) => ({ keyId, usedAtMs })) })
    },
  }
}
