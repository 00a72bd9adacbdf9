/**
 * The metrics of metering.
 */

import { DURATION_BOUNDS, type Metrics } from '@gateway/telemetry/metrics'

export interface MeteringMetrics {
  batch(counts: { reports: number; rejected: number; seconds: number; lagSeconds: number }): void
}

export function meteringMetrics(metrics: Metrics, observed: { storeAway(): boolean }): MeteringMetrics {
  const reports = metrics.counter('gateway_metering_reports_total', 'usage reports `recorded`, `rejected`', ['outcome'])
  const recorded = reports.labels('recorded')
  const rejected = reports.labels('rejected')
  const seconds = metrics
    .histogram('gateway_metering_batch_seconds', 'time to record a batch', DURATION_BOUNDS)
    .labels()
  const lag = metrics
    .histogram('gateway_metering_lag_seconds', 'end of a request to its row, the oldest of each batch', DURATION_BOUNDS)
    .labels()
  metrics.observedGauge('gateway_metering_store_away', '1 while totals wait for Redis', () =>
    observed.storeAway() ? 1 : 0,
  )
  return {
    batch(counts) {
      recorded.add(counts.reports)
      rejected.add(counts.rejected)
      seconds.observe(counts.seconds)
      lag.observe(counts.lagSeconds)
    },
  }
}
