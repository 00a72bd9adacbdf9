/**
 * Counts and measures the router. Labels are the config's pools and backends and our own words for outcomes.
 */

import type { InFlightList } from '@gateway/in-flight/collections'
import type { TokenUsage } from '@gateway/contracts/usage'
import { DURATION_BOUNDS, memoize, type Metrics, SHORT_BOUNDS } from '@gateway/telemetry/metrics'
import { countShed, countTokens, observeShedLimit, observeStreams } from '@gateway/telemetry/process-metrics'
import type { Change } from './core/backend-health.ts'
import { isUsable, type BackendRegistry } from './backend-registry.ts'
import type { PoolSubscriptions } from './pool-subscriptions.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'

export interface RouterMetrics {
  job(pool: string, outcome: string): void
  attempt(backend: string, outcome: string, durationMs: number): void
  /** Another attempt begins after one at `backend` has failed. */
  failover(pool: string, backend: string): void
  /** The change of health that a fault has caused. */
  health(backend: string, change: Change): void
  /** A job has waited for a slot at a backend. */
  waited(pool: string, tookMs: number): void
  /** From receiving a part of a stream to passing it on. */
  chunk(tookMs: number): void
  tokens(model: string, usage: TokenUsage): void
  /** A job was given back because this router is late. */
  shed(): void
}

export function routerMetrics(metrics: Metrics): RouterMetrics {
  const failovers = metrics.counter(
    'gateway_router_failovers_total',
    'attempts after a failed one; `backend` is the failed one',
    ['pool', 'backend'],
  )
  const ejections = metrics.counter('gateway_router_ejections_total', 'times a backend was taken out', ['backend'])
  const coolings = metrics.counter('gateway_router_coolings_total', 'pauses after a 429', ['backend'])
  const waits = metrics.histogram('gateway_router_wait_seconds', 'waits for a place at a backend', DURATION_BOUNDS, [
    'pool',
  ])
  const chunks = metrics
    .histogram(
      'gateway_router_chunk_lag_seconds',
      'from receiving a part of a stream to passing it on, with waits for slow clients',
      CHUNK_BOUNDS,
    )
    .labels()
  const shed = countShed(metrics, ['late'])
  return {
    ...callMetrics(metrics),
    failover: (pool, backend) => failovers.labels(pool, backend).add(),
    health(backend, change) {
      if (change === 'ejected') ejections.labels(backend).add()
      if (change === 'cooled') coolings.labels(backend).add()
    },
    waited: (pool, tookMs) => waits.labels(pool).observe(tookMs / 1_000),
    chunk: (tookMs) => chunks.observe(tookMs / 1_000),
    tokens: countTokens(metrics),
    shed: () => shed('late'),
  }
}

const CHUNK_BOUNDS = [0.0001, 0.00025, ...SHORT_BOUNDS]

/** Every request passes here, and nearly every attempt is served: those series are looked up once. */
function callMetrics(metrics: Metrics): Pick<RouterMetrics, 'job' | 'attempt'> {
  const jobs = metrics.counter('gateway_router_jobs_total', 'jobs by how they ended', ['pool', 'outcome'])
  const attempts = metrics.counter(
    'gateway_router_attempts_total',
    'calls to backends: `served`, `http_503`, `connect`, …',
    ['backend', 'outcome'],
  )
  const seconds = metrics.histogram(
    'gateway_router_attempt_seconds',
    'duration of calls to backends',
    DURATION_BOUNDS,
    ['backend'],
  )
  const servedJobs = memoize((pool) => jobs.labels(pool, 'served'))
  const servedAttempts = memoize((backend) => ({
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

/** Values that the registry reads at each scrape. */
export function observeRouter(
  metrics: Metrics,
  parts: {
    backendRegistry: BackendRegistry
    limiter: ConcurrencyLimiter
    jobs: Pick<InFlightList<{ readonly header: { readonly stream: boolean } }>, 'size' | typeof Symbol.iterator>
    subscriptions: PoolSubscriptions
  },
): void {
  const { backendRegistry, limiter, jobs, subscriptions } = parts
  observeShedLimit(metrics, subscriptions)
  metrics.observedGauge('gateway_router_jobs_running', 'jobs under way', () => jobs.size)
  metrics.observedGauge('gateway_router_jobs_waiting', 'jobs that wait for a place at a backend', () => limiter.waiting)
  observeStreams(metrics, () => [...jobs].reduce((count, { header }) => count + (header.stream ? 1 : 0), 0))
  const pools = () => [...backendRegistry.pools()]
  metrics.observedGauge(
    'gateway_router_targets',
    'targets of a pool',
    () => pools().map(({ id, targets }) => [[id], targets.length] as const),
    ['pool'],
  )
  metrics.observedGauge(
    'gateway_router_targets_usable',
    'targets neither ejected nor cooling',
    () => {
      const nowMs = performance.now()
      return pools().map(
        ({ id, targets }) => [[id], targets.filter((target) => isUsable(target, nowMs)).length] as const,
      )
    },
    ['pool'],
  )
  const backends = () => [...backendRegistry.backends()]
  metrics.observedGauge(
    'gateway_router_backend_running',
    'calls under way at a backend',
    () => backends().map(({ config, capacity }) => [[config.id], capacity.outstanding] as const),
    ['backend'],
  )
  metrics.observedGauge(
    'gateway_router_backend_places',
    "this router's share of `maxConcurrent`",
    () => backends().map(({ config, capacity }) => [[config.id], capacity.slots] as const),
    ['backend'],
  )
}
