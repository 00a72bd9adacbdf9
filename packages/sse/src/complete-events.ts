/**
 * Regroups a byte stream into pieces of complete server-sent events, however the network cut it. It holds one unfinished event at
 * most. It adds nothing, leaves nothing out and moves nothing.
 */

import { EventBoundaries } from './event-boundaries.ts'
import { CR, LF } from './line-state.ts'

const NO_BYTES = Buffer.alloc(0)

export interface CompleteEvents {
  /** Returns the part of the stream that ends with a complete event and has not been returned yet: often `bytes` itself or a view. */
  push(bytes: Uint8Array): Uint8Array
  /** The stream has ended in good order. Returns the bytes that are still held. */
  end(): Uint8Array
}

export function completeEvents(): CompleteEvents {
  const boundaries = new EventBoundaries()
  let held: Uint8Array[] = []

  function take(last: Uint8Array): Uint8Array {
    if (held.length === 0) return last
    const complete = Buffer.concat([...held, last])
    held = []
    return complete
  }

  return {
    push(bytes) {
      if (held.length === 0 && endsWithEmptyLine(bytes)) {
        boundaries.reset()
        return bytes
      }
      const end = boundaries.lastEnd(asBuffer(bytes))
      const complete = end === 0 ? NO_BYTES : take(bytes.subarray(0, end))
      if (end < bytes.length) held.push(bytes.subarray(end))
      return complete
    },
    end: () => take(NO_BYTES),
  }
}

/** Nearly every piece ends so. */
function endsWithEmptyLine(bytes: Uint8Array): boolean {
  return bytes[bytes.length - 1] === LF && bytes[bytes.length - 2] === LF
}

/**
 * Counts the events of a piece that `push` returned, and finds where the last of them begins. The edge calls it for every piece, so
 * it looks at line feeds alone.
 */
export function findEvents(bytes: Uint8Array): { count: number; lastAt: number } {
  let count = 0
  let lastAt = 0
  let nextAt = 0
  let from = bytes.indexOf(LF)
  while (from !== -1 && from + 1 < bytes.length) {
    const next = bytes[from + 1]
    const isCrLf = next === CR && bytes[from + 2] === LF
    if (next === LF || isCrLf) {
      count++
      lastAt = nextAt
      nextAt = from + (isCrLf ? 3 : 2)
    }
    from = bytes.indexOf(LF, from + 2)
  }
  return { count, lastAt }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
