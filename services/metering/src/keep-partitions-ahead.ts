/**
 * Makes the ledger's next months long before they begin. A failure is logged and tried again an hour later: the month is
 * made at the latest with its first row.
 */

import type { Logger } from '@gateway/telemetry/logger'
import type { Partitions } from './db/partitions.ts'

const HOUR_MS = 3_600_000

export function keepPartitionsAhead(partitions: Partitions, logger: Logger): Disposable {
  const timer = setInterval(() => {
    partitions.ensureAhead().catch((error: unknown) => {
      logger.warn({ err: error }, 'the next months of the ledger could not be made')
    })
  }, HOUR_MS)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
