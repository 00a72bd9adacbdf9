/**
 * Reports usage durably: the reports of one tick share one durable message. A report's promise resolves when it is
 * stored; it rejects when that is not known in time, while the bus goes on trying, so a charge is late but never lost.
 */

import type { Bus } from '@gateway/bus/port'
import { atTurnsEnd } from '@gateway/bus/turn'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { failpoint } from '@gateway/service/failpoint'
import { talkAs } from '@gateway/service/talk-as'

const STORE_TIMEOUT_MS = 30_000
/** Keeps a batch far below the broker's `max_payload`: an event takes about 1 KB. */
const MAX_BATCH = 200

export interface UsageReporter {
  report(event: UsageEvent): Promise<void>
}

interface Batch {
  events: UsageEvent[]
  stored: Promise<void>
}

export function createUsageReporter(bus: Bus): UsageReporter {
  const edge = talkAs('edge', bus)
  let open: Batch | null = null

  function openBatch(): Batch {
    const events: UsageEvent[] = []
    const stored = new Promise<void>((resolve, reject) => {
      atTurnsEnd(() => {
        if (open?.events === events) open = null
        edge.report('usage', { v: 1, events }, { timeoutMs: STORE_TIMEOUT_MS }).then(resolve, reject)
        failpoint('edge.usage-published')
      })
    })
    return { events, stored }
  }

  return {
    report(event) {
      if (open === null || open.events.length >= MAX_BATCH) open = openBatch()
      open.events.push(event)
      return open.stored
    },
  }
}
