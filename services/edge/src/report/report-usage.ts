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
/** Keeps a batch far below the broker's `max_payload`: an event takes about 1 KB, and four of its attempts as much. */
const MAX_BATCH_KB = 200

export interface UsageReporter {
  report(event: UsageEvent): Promise<void>
}

interface Batch {
  events: UsageEvent[]
  kilobytes: number
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
    return { events, kilobytes: 0, stored }
  }

  return {
    report(event) {
      if (open === null || open.kilobytes >= MAX_BATCH_KB) open = openBatch()
      open.kilobytes += 1 + event.attempts.length / 4
      open.events.push(event)
      return open.stored
    },
  }
}
