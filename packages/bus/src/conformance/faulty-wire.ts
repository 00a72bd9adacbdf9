/**
 * A wire that loses, repeats and reorders frame messages between processes, the same way for the same seed.
 *
 * Only frames suffer: the stream protocol has to get them across.
 */

import type { Wire } from '../wire.ts'

export interface Faults {
  seed: number
  /** Each between 0 and 1. */
  loss: number
  repetition: number
  reordering: number
}

const MAX_DELAY_MS = 8

export function faultyWire(wire: Wire, faults: Faults): Wire {
  const random = randomFrom(faults.seed)
  const publish = wire.publish.bind(wire)
  const deliver = (subject: string, payload: Uint8Array, replyTo: string | undefined) => {
    if (random() < faults.loss) return
    if (random() >= faults.reordering) return publish(subject, payload, replyTo)
    setTimeout(publish, random() * MAX_DELAY_MS, subject, payload, replyTo)
  }
  return Object.create(wire, {
    publish: {
      value: (subject: string, payload: Uint8Array, replyTo?: string) => {
        if (!/^inbox\.\w+\.f\./.test(subject)) return publish(subject, payload, replyTo)
        deliver(subject, payload, replyTo)
        if (random() < faults.repetition) deliver(subject, payload, replyTo)
      },
    },
  }) as Wire
}

/** mulberry32 */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
