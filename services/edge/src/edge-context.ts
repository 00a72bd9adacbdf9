/**
 * What every route of the edge works with; opened by `start.ts`, closed in reverse.
 */

import type { EdgeAdmission } from '@gateway/admission/port'
import type { Bus } from '@gateway/bus/port'
import type { IdempotencyStore } from '@gateway/idempotency/port'
import type { ConfigSource } from '@gateway/config/config-source'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import type { Logger } from '@gateway/telemetry/logger'
import type { Tracer } from '@gateway/telemetry/tracing'
import type { BytesInFlight } from './http/memory-budget.ts'
import type { LargeBodies } from './http/large-bodies.ts'
import type { KeysClient, LedgerFigures, MeteringClient } from './http/sdk-clients.ts'
import type { EdgeSettings } from './config.ts'
import type { CountAtBackends } from './inference/count-at-backends.ts'
import type { MinuteBuckets } from './core/minute-buckets.ts'
import type { ResponseKeySource } from './idempotency/response-keys.ts'
import type { RunningResponses } from './idempotency/running-responses.ts'
import type { ClientNetwork } from './http/client-network.ts'
import type { LoadShedder } from './http/load-shedder.ts'
import type { EdgeMetrics } from './metrics.ts'
import type { AccountCache } from './admission/account-cache.ts'
import type { RunningRequests } from './inference/running-requests.ts'
import type { VerifySignIn } from './auth/verify-token.ts'

export interface Reported {
  /** Resolves when the usage is stored. Rejects when that is not known in time. */
  inTime: Promise<void>
  /** Resolves when the usage is stored, however late; never where this process has to leave that to another. */
  stored: Promise<void>
}

export interface EdgeContext {
  bus: Bus
  admission: EdgeAdmission
  config: ConfigSource
  settings: EdgeSettings
  logger: Logger
  verifySignIn: VerifySignIn
  keys: KeysClient
  metering: MeteringClient
  plans: AccountCache
  /** What the ledger says, for those who ask for their own figures. */
  figures: LedgerFigures
  /** Null where no backend counts. */
  countAtBackends: CountAtBackends
  /** Counts of tokens and quotes. */
  asides: MinuteBuckets
  running: RunningRequests
  bytes: BytesInFlight
  largeBodies: LargeBodies
  clientNetwork: ClientNetwork
  shedder: LoadShedder
  idempotency: { store: IdempotencyStore; keys: ResponseKeySource; running: RunningResponses }
  usage: { report(event: UsageEvent): Reported }
  metrics: EdgeMetrics
  tracer: Tracer
}
