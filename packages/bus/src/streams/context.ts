/** Every part of the frame protocol in one process shares it. */

import type { BusCounters, BusMeasures } from '../counters.ts'
import type { Liveness } from '../core/liveness.ts'
import type { OnStatus } from '../port.ts'
import type { Tuning } from '../tuning.ts'
import type { Wire } from '../wire.ts'

export interface StreamContext {
  readonly processId: string
  readonly wire: Wire
  readonly tuning: Tuning
  readonly counters: BusCounters
  readonly measures: BusMeasures
  readonly liveness: Liveness
  readonly onStatus: OnStatus
  /** Monotonic milliseconds. */
  now(): number
}
