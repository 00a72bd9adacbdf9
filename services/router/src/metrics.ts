/**
 * What the router counts.
 */

import { DURATION_BOUNDS, type Metrics } from '@gateway/service/metrics'

export interface RouterMetrics {
  job(pool: string, outcome: string): void
  attempt(backend: string, outcome: string, durationMs: number): void
}

export function routerMetrics(metrics: Metrics, observed: { running(): number; waiting(): number }): RouterMetrics {
  const jobs = metrics.counter('gateway_router_jobs_total', 'Jobs by how they ended', ['pool', 'outcome'])
  const attempts = metrics.counter('gateway_router_attempts_total', 'Calls to backends by how they ended', ['backend', 'outcome'])
  const seconds = metrics.histogram('gateway_router_attempt_seconds', 'Duration of calls to backends', DURATION_BOUNDS, ['backend'])
  metrics.observedGauge('gateway_router_jobs_running', 'Jobs under way', observed.running)
  metrics.observedGauge('gateway_router_jobs_waiting', 'Jobs that wait for a place at a backend', observed.waiting)
  return {
    job: (pool, outcome) => jobs.labels(pool, outcome).add(),
    attempt(backend, outcome, durationMs) {
      attempts.labels(backend, outcome).add()
      seconds.labels(backend).observe(durationMs / 1_000)
    },
  }
}
