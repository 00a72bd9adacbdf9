/** The durable half of one handle on the memory bus. */

import type { BusCounters, BusMeasures } from '../counters.ts'
import type { Durable } from '../durable.ts'
import { NotStoredError } from '../port.ts'
import type { DurableStore } from './durable-store.ts'

const UNHEALTHY_AFTER_MS = 2_000

export function memoryDurable(store: DurableStore, counters: BusCounters, measures: BusMeasures): Durable {
  /** When each event that is not committed was published, oldest first. */
  const pending = new Map<symbol, number>()

  return {
    get healthy() {
      const [oldest] = pending.values()
      return oldest === undefined || performance.now() - oldest < UNHEALTHY_AFTER_MS
    },

    async publish(subject, payload, timeoutMs) {
      const committed = store.publish(subject, Buffer.from(payload))
      if (committed === null) throw new NotStoredError(`no stream of this hub takes ${subject}`)
      const id = Symbol()
      const publishedAtMs = performance.now()
      pending.set(id, publishedAtMs)
      counters.durablePending++
      const handled = committed.then(() => {
        pending.delete(id)
        counters.durablePending--
        counters.durableAcknowledged++
        measures.acknowledged(performance.now() - publishedAtMs)
      })
      await within(handled, timeoutMs, subject)
    },

    consume: async (options) => store.register(options),

    async [Symbol.asyncDispose]() {},
  }
}

async function within(committed: Promise<void>, timeoutMs: number, subject: string): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new NotStoredError(`${subject} not committed within ${timeoutMs} ms`)),
    timeoutMs,
  )
  try {
    await Promise.race([committed, promise])
  } finally {
    clearTimeout(timer)
  }
}
