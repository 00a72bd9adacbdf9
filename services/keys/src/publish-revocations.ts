/**
 * Publishes a dead key to all edges, and they end a revoked key's open streams.
 *
 * A broadcast reaches only the edges that are connected at that moment. Streams outlast an outage of NATS by half a minute,
 * so keys repeats the message until no such stream is left. A second delivery does no harm.
 */

import type { Bus } from '@gateway/bus/port'
import type { KeysInvalidated } from '@gateway/contracts/developer-keys-api'
import { rpcClient } from '@gateway/rpc/client'

export interface DeadKeyPublisher extends Disposable {
  publish(event: KeysInvalidated): void
}

/** The pauses between the messages: together longer than the bus keeps the streams of a process that is cut off. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 16_000]

/** Disposing publishes the waiting messages once more at once. */
export function openDeadKeyPublisher(bus: Bus): DeadKeyPublisher {
  const keys = rpcClient('keys', bus)
  const waiting = new Map<string, { event: KeysInvalidated; timer: NodeJS.Timeout }>()

  function publish(event: KeysInvalidated, times = 0): void {
    keys.publish('keysInvalidated', event)
    const pauseMs = PAUSES_MS[times]
    if (pauseMs === undefined) waiting.delete(event.keyHash)
    else waiting.set(event.keyHash, { event, timer: setTimeout(() => publish(event, times + 1), pauseMs).unref() })
  }

  return {
    publish(event) {
      clearTimeout(waiting.get(event.keyHash)?.timer)
      publish(event)
    },
    [Symbol.dispose]() {
      for (const { event, timer } of waiting.values()) {
        clearTimeout(timer)
        keys.publish('keysInvalidated', event)
      }
      waiting.clear()
    },
  }
}
