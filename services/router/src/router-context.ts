/**
 * The ports that every job of this process shares. Their implementers never import this file.
 */

import type { InFlightList } from '@gateway/in-flight/collections'
import type { Bus } from '@gateway/bus/port'
import type { Logger } from '@gateway/telemetry/logger'
import type { Tracer } from '@gateway/telemetry/tracing'
import type { ResponseMemory } from './response-memory.ts'
import type { BackendRegistry } from './backend-registry.ts'
import type { PoolSubscriptions } from './pool-subscriptions.ts'
import type { RouterMetrics } from './metrics.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { UsageReports } from './report-usage.ts'
import type { ShortageReports } from './report-to-operator.ts'
import type { StateSecrets } from './state-secrets.ts'
import type { TokenCounter } from './tokens/count-tokens.ts'

/** A job under way, as the whole process sees it. */
export interface RunningJob {
  readonly header: { readonly stream: boolean }
  /** The call to a backend that is under way. */
  readonly call: { readonly exchange: { abort(reason: unknown): void } } | null
  /** Resolves when the job's last word has been sent. */
  readonly done: Promise<void>
}

export interface RouterContext {
  bus: Bus
  logger: Logger
  backendRegistry: BackendRegistry
  limiter: ConcurrencyLimiter
  tokens: TokenCounter
  /** The secrets that seal the state which clients keep. */
  stateSecrets: StateSecrets
  /** Bounds the bytes that large responses hold at once. */
  responseMemory: ResponseMemory
  reports: UsageReports
  metrics: RouterMetrics
  shortages: ShortageReports
  tracer: Tracer
  /** Stopping: open jobs finish, new ones go elsewhere. */
  draining: boolean
  /** The time to finish is over: no further attempt starts. */
  expired: boolean
  jobs: InFlightList<RunningJob>
  subscriptions: PoolSubscriptions
}
