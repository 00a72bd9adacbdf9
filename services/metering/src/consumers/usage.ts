/**
 * Takes usage reports off the durable stream into the ledger: record, then write to the admission store, then acknowledge (by
 * returning). After a crash between two steps the messages come again, and a second record changes nothing.
 *
 * It parks and acknowledges an unrecordable report, which never blocks later ones. A database that is away throws, and
 * the bus brings the batch again after a growing pause.
 */

import { encodeJson } from '@gateway/rpc/json'
import type { Bus, DurableMessage } from '@gateway/bus/port'
import { subjects, usageConsumers, usageStream } from '@gateway/contracts/subjects'
import { failpoint } from '@gateway/service/failpoint'
import type { Logger } from '@gateway/telemetry/logger'
import { DURATION_BOUNDS, type Metrics } from '@gateway/telemetry/metrics'
import type { Span, Tracer } from '@gateway/telemetry/tracing'
import {
  groupByWindow,
  mergeReports,
  readReports,
  type RejectedReport,
  type Report,
  windowKey,
  type WindowReports,
} from '../core/reports.ts'
import { parkRejected, recordReports, type Partitions } from '../db/ledger.ts'
import { readCurrentTotals, type Settlement } from '../settlement.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import { readTotals, type Settled, type WindowTotal } from '../db/windows.ts'
import type { KeyUse, QuotaStatusPublisher } from '../publish-quota-status.ts'

export interface UsageContext {
  database: MeteringDatabase
  partitions: Partitions
  settlement: Settlement
  keyUse: KeyUse
  countBatch: ReturnType<typeof batchCounter>
  quotaStatus: QuotaStatusPublisher
  tracer: Tracer
  logger: Logger
}

const USAGE = {
  stream: usageStream.name,
  subject: subjects.usage,
  consumer: usageConsumers.metering,
  maxBatch: 1_000,
} as const

export function takeUsage(bus: Bus, context: UsageContext): Promise<AsyncDisposable> {
  return bus.durable.consume({ ...USAGE, handler: (batch) => consumeUsage(context, batch) })
}

/** A statement stays a matter of a tenth of a second, however much a batch of messages holds. */
const ROWS_AT_A_TIME = 2_000

export async function consumeUsage(context: UsageContext, batch: readonly DurableMessage[]): Promise<void> {
  failpoint('metering.reports-received')
  const startedAtMs = performance.now()
  const { reports, rejected } = readReports(batch)
  await park(context, rejected)
  const merged = mergeReports(reports)
  for (let start = 0; start < merged.length; start += ROWS_AT_A_TIME) {
    const part = merged.slice(start, start + ROWS_AT_A_TIME)
    const spans = beginSpans(context.tracer, part)
    await record(context, part)
    for (const span of spans) span.end()
  }
  context.countBatch({
    reports: reports.length,
    rejected: rejected.length,
    seconds: (performance.now() - startedAtMs) / 1000,
    lagSeconds: lagOf(merged),
  })
}

export function batchCounter(metrics: Metrics) {
  const reports = metrics.counter('gateway_metering_reports_total', 'usage reports `recorded`, `rejected`', ['outcome'])
  const recorded = reports.labels('recorded')
  const rejected = reports.labels('rejected')
  const seconds = metrics
    .histogram('gateway_metering_batch_seconds', 'time to record a batch', DURATION_BOUNDS)
    .labels()
  const lag = metrics
    .histogram('gateway_metering_lag_seconds', 'end of a request to its row, the oldest of each batch', DURATION_BOUNDS)
    .labels()
  return (batch: { reports: number; rejected: number; seconds: number; lagSeconds: number }): void => {
    recorded.add(batch.reports)
    rejected.add(batch.rejected)
    seconds.observe(batch.seconds)
    lag.observe(batch.lagSeconds)
  }
}

/** One a request that is traced: from here on the ledger has it. A batch that fails comes again, with spans of its own. */
function beginSpans(tracer: Tracer, reports: readonly Report[]): Span[] {
  if (!tracer.isOn) return []
  return reports.map(({ event }) =>
    tracer.start('record usage', {
      kind: 'consumer',
      parent: event.traceparent,
      attributes: { 'gateway.request_id': event.requestId, 'gateway.reporter': event.reporter },
    }),
  )
}

/** Of the request that has waited longest for its row. */
function lagOf(reports: readonly Report[]): number {
  const first = reports.reduce((earliest, { event }) => Math.min(earliest, event.endedAtMs), Date.now())
  return (Date.now() - first) / 1000
}

async function record(context: UsageContext, reports: readonly Report[]): Promise<void> {
  if (reports.length === 0) return
  await context.partitions.ensureFor(reports.map(({ event }) => event.requestId))
  try {
    const { moved, isComplete, hasKeys, voided } = await recordReports(context.database, reports)
    failpoint('metering.reports-recorded')
    context.quotaStatus.moved(moved)
    const groups = groupByWindow(reports)
    const isReported = isComplete && voided.length === 0
    const others = voided.map((window) => ({ ...window, included: [] }))
    await context.settlement.settle(
      isReported
        ? withRequests(hasKeys ? await readTotals(context.database, groups) : moved, groups)
        : await readCurrentTotals(context.database, [...groups.map(withIds), ...others]),
    )
    failpoint('metering.store-settled')
    context.keyUse.record(reports)
  } catch (error) {
    if (!isAboutTheData(error)) throw error
    await recordApart(context, reports, error)
  }
}

/** PostgreSQL refuses something in these reports: halves them until the one at fault stands alone. */
async function recordApart(context: UsageContext, reports: readonly Report[], error: Error): Promise<void> {
  const [first] = reports
  if (first && reports.length === 1) {
    await park(context, [{ payload: encodeJson(first.event), reason: error.message, sequence: first.sequence }])
    return
  }
  const middle = Math.ceil(reports.length / 2)
  await record(context, reports.slice(0, middle))
  await record(context, reports.slice(middle))
}

function withRequests(moved: readonly WindowTotal[], groups: readonly WindowReports[]): Settled[] {
  const totals = new Map(moved.map((total) => [windowKey(total), total]))
  return groups.map((group) => ({ ...totals.get(windowKey(group))!, included: group.included }))
}

/** Reads repeated requests from the ledger again: the store may not know them, and another report may stand for them. */
function withIds({ included, ...window }: WindowReports) {
  return { ...window, included: included.map(({ requestId }) => requestId) }
}

async function park({ database, logger }: UsageContext, rejected: readonly RejectedReport[]): Promise<void> {
  for (const { reason, sequence } of rejected) {
    logger.error({ reason, sequence }, 'a usage report cannot be recorded; it is kept in metering.rejected')
  }
  await parkRejected(database, rejected)
}

/** SQLSTATE classes 22 (data exception), 23 (integrity constraint), 54 (a limit of the server): no repetition can help. */
function isAboutTheData(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^(?:22|23|54)/.test(error.code)
}
