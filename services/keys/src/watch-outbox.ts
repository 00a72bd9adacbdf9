/**
 * Measures the committed changes that are not yet announced everywhere: their number, the age of the oldest, and the pause of
 * failing ones. Revocations have their own figures. While the database is away the last figures stand: the service is not ready
 * then, which says more.
 */

import type { Logger } from '@gateway/telemetry/logger'
import { repeat } from '@gateway/service/repeat'
import type { Metrics } from '@gateway/telemetry/metrics'
import { measureOutbox, pauseMs } from './db/outbox.ts'
import type { KeysDatabase } from './db/tables.ts'

const LOOK_EVERY_MS = 5_000

export function watchOutbox(parts: { database: KeysDatabase; metrics: Metrics; logger: Logger }): AsyncDisposable {
  const { database, metrics, logger } = parts
  const lanes = ['lane']
  const depth = metrics.gauge(
    'gateway_keys_outbox_depth',
    'unannounced changes: `revocation` (of keys), `account` (plan, overage, top-ups)',
    lanes,
  )
  const age = metrics.gauge('gateway_keys_outbox_age_seconds', 'age of the oldest unannounced change', lanes)
  const help = 'longest pause between attempts to announce a change; 0: none has failed'
  const pause = metrics.gauge('gateway_keys_outbox_pause_seconds', help, lanes)

  return repeat(async () => {
    try {
      for (const { lane, ...outbox } of await measureOutbox(database)) {
        depth.labels(lane).set(outbox.depth)
        age.labels(lane).set(outbox.oldestSeconds)
        pause.labels(lane).set(pauseMs(lane, outbox.mostAttempts) / 1_000)
      }
    } catch (error) {
      logger.warn({ err: error }, 'the outbox could not be measured')
    }
    return LOOK_EVERY_MS
  })
}
