/**
 * The ports of a running edge; `start.ts` opens them, and closes them in reverse. Code in a folder does not import this type:
 * it names the ports that it needs.
 */

import type { EdgeAdmission } from '@gateway/admission/port'
import type { Bus } from '@gateway/bus/port'
import type { ConfigSource } from '@gateway/config/config-source'
import type { UsageReporter } from './relay/settle.ts'
import type { Logger } from '@gateway/telemetry/logger'
import type { Tracer } from '@gateway/telemetry/tracing'
import type { BytesInFlight } from './http/memory-budget.ts'
import type { LargeBodies } from './requests/large-bodies.ts'
import type { ConfigViews } from './rpc/config-views.ts'
import type { KeysClient, LedgerFigures, MeteringClient, OperatorClient } from './rpc/service-clients.ts'
import type { EdgeSettings } from './config.ts'
import type { CountAtBackends } from './inference/count-at-backends.ts'
import type { MinuteBuckets } from './core/minute-buckets.ts'
import type { Traffic } from './core/traffic.ts'
import type { IdempotencyPorts } from './idempotency/ports.ts'
import type { ClientAddress, ClientNetwork } from './http/client-network.ts'
import type { LoadShedder } from './http/load-shedder.ts'
import type { EdgeMetrics } from './metrics.ts'
import type { AccountCache } from './auth/account-cache.ts'
import type { AllowanceLines } from './admission/allowance-lines.ts'
import type { RunningRequests } from './admission/running-requests.ts'
import type { CallerLines } from './auth/caller-lines.ts'
import type { KnownAdminKeys } from './auth/known-admin-keys.ts'
import type { VerifyPerson } from './auth/rights.ts'
import type { VerifySignIn } from './auth/verify-token.ts'
import type { ReceiptKeySource } from './receipts/receipt-keys.ts'
import type { EdgeFigures } from './traffic/query-edges.ts'
import type { ResponseSockets } from './websocket/response-sockets.ts'

export interface EdgeContext {
  bus: Bus
  admission: EdgeAdmission
  allowanceLines: AllowanceLines
  config: ConfigSource
  settings: EdgeSettings
  logger: Logger
  verifySignIn: VerifySignIn
  verifyPerson: VerifyPerson
  keys: KeysClient
  metering: MeteringClient
  operator: OperatorClient
  configViews: ConfigViews
  plans: AccountCache
  /** The ledger's figures, for the owners of accounts. */
  figures: LedgerFigures
  /** Null where no backend counts. */
  countAtBackends: CountAtBackends
  /** Counts of tokens and quotes. */
  asides: MinuteBuckets
  running: RunningRequests
  bytes: BytesInFlight
  largeBodies: LargeBodies
  clientNetwork: ClientNetwork
  clientAddress: ClientAddress
  adminKeys: KnownAdminKeys
  callerLines: CallerLines
  shedder: LoadShedder
  idempotency: IdempotencyPorts
  sockets: ResponseSockets
  receipts: ReceiptKeySource
  usage: UsageReporter
  metrics: EdgeMetrics
  /** For administrators: the requests that have ended here. */
  traffic: Traffic
  /** Of all edges. */
  edgeFigures: EdgeFigures
  tracer: Tracer
}
