/** Times and sizes of the bus. The defaults are the design's; tests shrink them. */

import type { LivenessTiming } from './core/liveness.ts'
import type { TimeoutPolicy } from './core/messages.ts'

const KiB = 1024
const MiB = 1024 * KiB

export interface Tuning extends TimeoutPolicy, LivenessTiming {
  /** The caller reports a job as unavailable when no worker accepts it within this time. */
  acceptTimeoutMs: number
  /** Bodies up to this size travel inside the job message. */
  inlineBytes: number
  /**
   * Data larger than this travels in several frames, and reaches the client in as many writes. Of smaller writes Linux
   * keeps more for a client that does not read: 19 MB at 16 KiB, 7 MB at 32 KiB (6.18).
   */
  frameBytes: number
  /**
   * Frames to one peer are packed into messages of at most this size. NATS' client copies a message that does not lie
   * in one read of its socket (64 KiB), and a large one several times.
   */
  messageBytes: number
  /** Unconsumed response bytes under way per stream. */
  streamWindowBytes: number
  ackEveryBytes: number
  /** Bytes on their way to one process; all its peers together must stay below the broker's `max_pending` of 64 MB. */
  peerWindowBytes: number
  markEveryBytes: number
  /** The last acknowledgement of a stream: until it comes the worker merely keeps the last frame. */
  leisureMs: number
  /** Parts of one body requested at a time, and bodies pulled at a time. */
  bodyPartsInFlight: number
  bodiesAtOnce: number
  bodyRetryMs: number
  resumeRetryMs: number
}

export const defaultTuning: Tuning = {
  acceptTimeoutMs: 250,
  heartbeatMs: 1_000,
  lostAfterMs: 3_000,
  graceMs: 3_000,
  outageMs: 30_000,
  tickMs: 250,
  chunkGapMs: 5,
  unhurriedMs: 5,
  leisureMs: 50,
  inlineBytes: 256 * KiB,
  frameBytes: 32 * KiB,
  messageBytes: 64 * KiB,
  streamWindowBytes: 256 * KiB,
  ackEveryBytes: 64 * KiB,
  peerWindowBytes: 8 * MiB,
  markEveryBytes: MiB,
  bodyPartsInFlight: 16,
  bodiesAtOnce: 32,
  bodyRetryMs: 1_000,
  resumeRetryMs: 200,
}
