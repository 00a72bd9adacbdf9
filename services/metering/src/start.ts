/**
 * Starts metering on the given parts: the same in one process on embedded parts and in a cluster.
 */

import type { MeteringAdmission } from '@gateway/admission/port'
import type { Bus } from '@gateway/bus/port'
import { migrate } from '@gateway/postgres/migrate'
import type { Logger } from '@gateway/telemetry/logger'
import { createMetrics, type Metrics } from '@gateway/telemetry/metrics'
import { serve } from '@gateway/rpc/server'
import { runUntilDisposed, type RunningService } from '@gateway/service/start-service'
import { NO_TRACING, type Tracer } from '@gateway/telemetry/tracing'
import { batchCounter, takeUsage, type UsageContext } from './consumers/usage.ts'
import { readAccountUsage, readUsageByAccount } from './db/daily-usage.ts'
import { createPartitions, keepPartitionsAhead } from './db/ledger.ts'
import type { MeteringDatabase } from './db/tables.ts'
import { quota } from './handlers/quota.ts'
import { reconcile } from './handlers/reconcile.ts'
import { warmTogether } from './handlers/warm.ts'
import { startSettlement } from './settlement.ts'
import { createKeyUse, startQuotaStatusPublisher } from './publish-quota-status.ts'

interface MeteringParts {
  bus: Bus
  admission: MeteringAdmission
  /** For the migrations, on connections of their own. */
  databaseUrl: string
  database: MeteringDatabase
  logger: Logger
  /** Where a process writes all its counts. */
  metrics?: Metrics
  tracer?: Tracer
}

/** Stopping takes nothing new and finishes the batch in hand. */
export async function startMetering(parts: MeteringParts): Promise<RunningService> {
  const { bus, admission, databaseUrl, database, logger, metrics = createMetrics({ service: 'metering' }) } = parts
  await migrate(databaseUrl, { schema: 'metering', directory: `${import.meta.dirname}/db/migrations` })
  await using starting = new AsyncDisposableStack()
  const partitions = createPartitions(database)
  starting.use(await keepPartitionsAhead(partitions, logger))
  const quotaStatus = starting.use(startQuotaStatusPublisher({ bus, database, logger }))
  const settlement = starting.use(startSettlement({ database, admission, logger, metrics }))
  const context: UsageContext = {
    database,
    partitions,
    settlement,
    keyUse: createKeyUse(bus),
    quotaStatus,
    countBatch: batchCounter(metrics),
    tracer: parts.tracer ?? NO_TRACING,
    logger,
  }
  starting.use(await takeUsage(bus, context))
  starting.use(
    await serve({ bus, logger, metrics }, 'metering', {
      meteringQuota: (question) => quota({ database, admission, now: Date.now }, question),
      meteringAccountUsage: async (question) => ({ groups: await readAccountUsage(database, question) }),
      meteringUsageByAccount: (question) => readUsageByAccount(database, question),
      meteringReconcile: (question) => reconcile({ database, admission, now: Date.now }, question),
      meteringWarm: warmTogether({ database, admission, quotaStatus }),
    }),
  )
  return runUntilDisposed(starting.move())
}
