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
  const attempts = metrics.counter('gateway_router_attempts_total', 'Calls to backends by how they ended', [
    'backend',
    'outcome',
  ])
  const seconds = metrics.histogram(
    'gateway_router_attempt_seconds',
    'Duration of calls to backends',
    DURATION_BOUNDS,
    ['backend'],
  )
  metrics.observedGauge('gateway_router_jobs_running', 'Jobs under way', observed.running)
  metrics.observedGauge('gateway_router_jobs_waiting', 'Jobs that wait for a place at a backend', observed.waiting)

  // Every request passes here, and nearly every attempt is served: those series are looked up once.
  const servedJobs = remember((pool) => jobs.labels(pool, 'served'))
  const servedAttempts = remember((backend) => ({
    count: attempts.labels(backend, 'served'),
    seconds: seconds.labels(backend),
  }))

  return {
    job(pool, outcome) {
      if (outcome === 'served') servedJobs(pool).add()
      else jobs.labels(pool, outcome).add()
    },
    attempt(backend, outcome, durationMs) {
      const served = servedAttempts(backend)
      served.seconds.observe(durationMs / 1_000)
      if (outcome === 'served') served.count.add()
      else attempts.labels(backend, outcome).add()
    },
  }
}

function remember<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>()
  return (name) => {
    const known = made.get(name)
    if (known !== undefined) return known
    const value = make(name)
    made.set(name, value)
    return value
  }
}
