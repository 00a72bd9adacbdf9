/**
 * How long a frame may wait for others to travel with. Nobody waits for an acknowledgement, and a chunk that follows
 * another within a millisecond is not missed for one; all else leaves at the end of the turn.
 */

import { frameKind, type FrameKind } from './frames.ts'

const UNHURRIED: ReadonlySet<FrameKind> = new Set([
  frameKind.accept,
  frameKind.sent,
  frameKind.ack,
  frameKind.mark,
  frameKind.echo,
])

export interface Patience {
  /** Least time between two messages that carry nothing but chunks. */
  chunkGapMs: number
  /** For frames that nobody waits for; far below the time to accept and the time between heartbeats. */
  unhurriedMs: number
}

/** 0: at the end of this turn. */
export function mayWaitMs(kind: FrameKind, sinceLastMessageMs: number, patience: Patience): number {
  if (UNHURRIED.has(kind)) return patience.unhurriedMs
  if (kind === frameKind.data && sinceLastMessageMs < patience.chunkGapMs) return patience.chunkGapMs
  return 0
}
