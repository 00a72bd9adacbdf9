/**
 * Reports the cost of a job for an edge that was lost before it had acknowledged the job's last word.
 *
 * The ledger ranks an edge's report of the same request higher, so a report for an edge that still lives changes nothing.
 */

import type { Bus } from '@gateway/bus/port'
import { bill, type UsageEvent } from '@gateway/contracts/usage-event'
import type { Logger } from '@gateway/telemetry/logger'
import { rpcClient } from '@gateway/rpc/client'
import { requestFields } from '@gateway/telemetry/tracing'
import type { JobContext, DeliveredResponse } from './job-context.ts'
import type { RouterMetrics } from './metrics.ts'

export interface UsageReports {
  /** Never throws; a report that is not stored in time is still being delivered by the bus. */
  report(run: JobContext, delivered: DeliveredResponse): void
  /** Resolves when every report so far has been stored or given up on. */
  finished(): Promise<void>
}

const STORED_WITHIN_MS = 30_000

export function openUsageReports(bus: Bus, logger: Logger, count: RouterMetrics['tokens']): UsageReports {
  const router = rpcClient('router', bus)
  const pending = new Set<Promise<void>>()

  async function publish(run: JobContext, delivered: DeliveredResponse): Promise<void> {
    const endedAtMs = Date.now()
    const usage = await delivered.usage()
    count(run.header.lane, usage)
    const events = [eventOf(run, delivered, usage, endedAtMs)]
    try {
      await router.report('usage', { v: 1, events }, { timeoutMs: STORED_WITHIN_MS })
    } catch (error) {
      logger.warn(
        { ...requestFields(run.header.requestId, run.header.traceparent), err: error },
        'a usage report is not acknowledged yet',
      )
    }
  }

  return {
    report(run, delivered) {
      const done: Promise<void> = publish(run, delivered)
        .catch((error: unknown) =>
          logger.error(
            { ...requestFields(run.header.requestId, run.header.traceparent), err: error },
            'a usage report failed',
          ),
        )
        .finally(() => pending.delete(done))
      pending.add(done)
    },
    async finished() {
      await Promise.all(pending)
    },
  }
}

function eventOf(
  { header, attempts }: JobContext,
  delivered: DeliveredResponse,
  usage: UsageEvent['usage'],
  endedAtMs: number,
): UsageEvent {
  return {
    ...bill.parse(header),
    reporter: 'router',
    backend: delivered.target.backend.config.id,
    backendModel: delivered.target.model,
    usage,
    outcome: 'edge_lost',
    delivered: false,
    streamed: header.stream,
    attempts,
    endedAtMs,
  }
}
