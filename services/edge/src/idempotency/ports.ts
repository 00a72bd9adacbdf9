/** The ports of requests with an `Idempotency-Key`. */

import type { IdempotencyStore } from '@gateway/idempotency/port'
import type { ResponseKeySource } from './response-keys.ts'
import type { RunningResponses } from './running-responses.ts'

export interface IdempotencyPorts {
  store: IdempotencyStore
  keys: ResponseKeySource
  running: RunningResponses
}
