/**
 * Tells all edges of a dead key, and a revoked key's open streams end there.
 *
 * A broadcast reaches only the edges that are connected at that moment. Streams outlast an outage of NATS by half a minute,
 * so keys repeats the message until no such stream is left. Hearing it twice does no harm.
 */

import type { Bus } from '@gateway/bus/port'
import type { KeysInvalidated } from '@gateway/contracts/developer-keys-api'
import { rpcClient } from '@gateway/rpc/client'

export interface DeadKeyTeller extends Disposable {
  tell(news: KeysInvalidated): void
}

/** The pauses between the messages: together longer than the bus keeps the streams of a process that is cut off. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 16_000]

/** Disposing tells once more at once. */
export function openDeadKeyTeller(bus: Bus): DeadKeyTeller {
  const keys = rpcClient('keys', bus)
  const waiting = new Map<string, { news: KeysInvalidated; timer: NodeJS.Timeout }>()

  function tell(news: KeysInvalidated, times = 0): void {
    keys.publish('keysInvalidated', news)
    const pauseMs = PAUSES_MS[times]
    if (pauseMs === undefined) waiting.delete(news.keyHash)
    else waiting.set(news.keyHash, { news, timer: setTimeout(() => tell(news, times + 1), pauseMs).unref() })
  }

  return {
    tell(news) {
      clearTimeout(waiting.get(news.keyHash)?.timer)
      tell(news)
    },
    [Symbol.dispose]() {
      for (const { news, timer } of waiting.values()) {
        clearTimeout(timer)
        keys.publish('keysInvalidated', news)
      }
      waiting.clear()
    },
  }
}
