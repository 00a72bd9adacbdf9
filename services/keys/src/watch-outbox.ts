/**
 * Watches how many changes of keys are committed and not yet announced everywhere, and how long the oldest has waited.
 * While the database is away the last figures stand: the service is not ready then, which says more.
 */

import type { Database } from '@gateway/postgres/database'
import type { Logger } from '@gateway/service/logger'
import type { Metrics } from '@gateway/service/metrics'
import { measureOutbox } from './db/outbox.ts'

const LOOK_EVERY_MS = 5_000

export function watchOutbox(parts: { database: Database; metrics: Metrics; logger: Logger }): AsyncDisposable {
  const { database, metrics, logger } = parts
  const depth = metrics.gauge('gateway_keys_outbox_depth', 'Changes of keys not yet known everywhere').labels()
  const age = metrics.gauge('gateway_keys_outbox_age_seconds', 'How long the oldest of them has waited').labels()

  async function look(): Promise<void> {
    try {
      const outbox = await measureOutbox(database)
      depth.set(outbox.depth)
      age.set(outbox.oldestSeconds)
    } catch (error) {
      logger.warn({ err: error }, 'the outbox could not be measured')
    }
  }

  let looking = look()
  const timer = setInterval(() => {
    looking = look()
  }, LOOK_EVERY_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await looking
    },
  }
}
