/**
 * Follows which routers live, so that they share each backend's limit. Every router publishes once a second that it is
 * there, and at once when it receives the event of a new one. A router without an event for three seconds has left.
 * Until then its share stays unused. Before the others have received the event of a new router, its share can come on
 * top of the limit. A router that stops publishes its end and the slots that it still holds: the others share the rest.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Bus } from '@gateway/bus/port'
import { rpcClient } from '@gateway/rpc/client'
import { shareAmong, COMPLETE, type Received, type Share } from './core/share-limit.ts'

const ANNOUNCE_EVERY_MS = 1_000
const LEFT_AFTER_MS = 3_000

export interface LiveRouters extends AsyncDisposable {
  /** The other live ones, those that leave among them. */
  others(): Iterable<string>
  /** This one takes nothing new. Its own share stays as it was, for its open jobs. */
  leave(): void
}

/** `held`: the requests that this router has, by backend. */
export async function followRouters(
  bus: Bus,
  { onShare, held }: { onShare(share: Share): void; held(): Record<string, number> },
): Promise<LiveRouters> {
  const router = rpcClient('router', bus)
  const received = new Map<string, Received>()
  let last = COMPLETE
  let isLeaving = false

  function judge(): void {
    if (isLeaving) return
    const aliveSinceMs = performance.now() - LEFT_AFTER_MS
    for (const [id, { atMs }] of received) if (atMs < aliveSinceMs) received.delete(id)
    const share = shareAmong(bus.processId, received, aliveSinceMs)
    if (isDeepStrictEqual(share, last)) return
    last = share
    onShare(share)
  }

  function announce(): void {
    router.publish('routersAlive', { routerId: bus.processId, ...(isLeaving ? { leaving: held() } : {}) })
  }

  const listening = await router.subscribe('routersAlive', ({ routerId, leaving }) => {
    if (routerId === bus.processId) return
    const isNew = !received.has(routerId)
    received.set(routerId, { atMs: performance.now(), leaving })
    if (isNew) announce()
    if (isNew || leaving) judge()
  })
  announce()
  const beat = setInterval(() => {
    announce()
    judge()
  }, ANNOUNCE_EVERY_MS)

  return {
    others: () => received.keys(),
    leave() {
      isLeaving = true
      announce()
    },
    async [Symbol.asyncDispose]() {
      isLeaving = true
      announce()
      clearInterval(beat)
      await listening[Symbol.asyncDispose]()
    },
  }
}
