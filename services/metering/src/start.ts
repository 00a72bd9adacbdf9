/**
 * Starts metering on the given parts: the same in one process on embedded parts and in a cluster.
 */

import type { MeteringAdmission } from '@gateway/admission/port'
import type { Bus } from '@gateway/bus/port'
import { GatewayError } from '@gateway/contracts/errors'
import { migrate } from '@gateway/postgres/migrate'
import type { Logger } from '@gateway/telemetry/logger'
import { createMetrics, type Metrics } from '@gateway/telemetry/metrics'
import { rpcClient } from '@gateway/rpc/client'
import { openLines } from '@gateway/rpc/lines'
import { describeConfig } from '@gateway/rpc/describe-config'
import { serve } from '@gateway/rpc/server'
import { runUntilDisposed, type RunningService } from '@gateway/service/start-service'
import { NO_TRACING, type Tracer } from '@gateway/telemetry/tracing'
import { batchCounter, takeUsage, type UsageContext } from './consumers/usage.ts'
import { readAccountUsage, readUsageByAccount } from './db/daily-usage.ts'
import { readOverview } from './db/overview.ts'
import { createPartitions, keepPartitionsAhead } from './db/ledger.ts'
import type { MeteringDatabase } from './db/tables.ts'
import { keepUsageSums } from './db/usage-sums.ts'
import { type ExportSettings, keepExports } from './exports/keep-exports.ts'
import { administer, refusalOf } from './handlers/administer.ts'
import type { WebhooksInUse } from './handlers/administer-webhooks.ts'
import { quota } from './handlers/quota.ts'
import { reconcile, type ReconcileContext } from './handlers/reconcile.ts'
import { warmTogether } from './handlers/warm.ts'
import { observeProjects } from './project-metrics.ts'
import { startSettlement } from './settlement.ts'
import { startWebhooks, type WebhookSettings } from './webhooks/start.ts'
import { createKeyUse, startQuotaStatusPublisher } from './publish-quota-status.ts'

/** Shorter than the caller of a repair waits. */
const NOTE_MS = 3_000

/** Administrators' calls: they leave connections of the pool to reports and to admission. */
const ADMINISTRATION = { atOnce: 4, mostWaiting: 200, refuse: busy }

function busy(): GatewayError {
  const sentence = 'Too many questions to the ledger wait; try again in a second'
  return new GatewayError('SERVICE_UNAVAILABLE', sentence, { retryAfterMs: 1_000 })
}

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
  /** Undefined: events of accounts stay in their stream. */
  webhooks?: WebhookSettings
  /** Undefined: no row is exported. */
  exports?: ExportSettings
}

/** Stopping takes nothing new and finishes the batch in hand. */
export async function startMetering(parts: MeteringParts): Promise<RunningService> {
  const { bus, admission, databaseUrl, database, logger, metrics = createMetrics({ service: 'metering' }) } = parts
  await migrate(databaseUrl, { schema: 'metering', directory: `${import.meta.dirname}/db/migrations` })
  await using starting = new AsyncDisposableStack()
  const { webhooks: settings } = parts
  const webhooks: WebhooksInUse = {
    current: () => settings?.config.current.webhooks ?? [],
    sendsMail: settings?.smtpUrl !== undefined,
  }
  const partitions = createPartitions(database)
  starting.use(await keepPartitionsAhead(partitions, logger))
  starting.use(keepUsageSums(database, logger))
  starting.use(observeProjects({ database, metrics, logger }))
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
  const noteRepairs: ReconcileContext['noteRepairs'] = async (repairs, by) => {
    await rpcClient('metering', bus).request('keysNoteRepairs', { repairs: [...repairs], by }, { timeoutMs: NOTE_MS })
  }
  starting.use(await takeUsage(bus, context))
  if (settings) starting.use(await startWebhooks({ bus, database, logger, metrics, ...settings }))
  if (parts.exports) starting.use(keepExports({ database, logger, metrics, now: Date.now, ...parts.exports }))
  const exports = () => parts.exports?.config.current.exports ?? []
  const inLine = openLines(ADMINISTRATION)
  const forAdministrators = <Reply>(call: () => Promise<Reply>) => inLine('administrators', call)
  starting.use(
    await serve({ bus, logger, metrics }, 'metering', {
      meteringQuota: (question) => quota({ database, admission, now: Date.now }, question),
      meteringAccountUsage: async (question) => ({ groups: await readAccountUsage(database, question) }),
      meteringUsageByAccount: (question) => forAdministrators(() => readUsageByAccount(database, question)),
      meteringAdminister: (call) =>
        forAdministrators(() => administer({ database, now: Date.now, webhooks, exports }, call)).catch(refusalOf),
      meteringOverview: (question) => forAdministrators(() => readOverview(database, question)),
      meteringReconcile: (question) => reconcile({ database, admission, now: Date.now, noteRepairs }, question),
      meteringWarm: warmTogether({ database, admission, quotaStatus }),
    }),
  )
  starting.use(await describeConfig(bus, 'metering', () => settings?.config.current.revision ?? null))
  return runUntilDisposed(starting.move())
}
