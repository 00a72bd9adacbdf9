/**
 * What every job of this process shares.
 */

import type { InFlightList } from '@gateway/in-flight/collections'
import type { Bus } from '@gateway/bus/port'
import type { Logger } from '@gateway/telemetry/logger'
import type { Tracer } from '@gateway/telemetry/tracing'
import type { ResponseMemory } from './response-memory.ts'
import type { BackendRegistry } from './backend-registry.ts'
import type { PoolSubscriptions } from './pool-subscriptions.ts'
import type { RouterMetrics } from './metrics.ts'
import type { JobContext } from './handlers/job-context.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { UsageReports } from './report-usage.ts'
import type { ShortageReports } from './report-to-operator.ts'
import type { TokenCounter } from './tokens/count-tokens.ts'

export interface RouterContext {
  bus: Bus
  logger: Logger
  backendRegistry: BackendRegistry
  places: ConcurrencyLimiter
  tokens: TokenCounter
  /** Bounds the bytes that large answers hold at once. */
  responseMemory: ResponseMemory
  reports: UsageReports
  metrics: RouterMetrics
  shortages: ShortageReports
  tracer: Tracer
  /** Stopping: open jobs finish, new ones go elsewhere. */
  draining: boolean
  /** The time to finish is over: no further attempt starts. */
  expired: boolean
  /** Jobs under way. */
  runs: InFlightList<JobContext>
  subscriptions: PoolSubscriptions
}
