/**
 * Follows which routers live, so that they share each backend's limit: every one says once a second that it is there,
 * and at once when it hears of a new one. One that is not heard for three seconds has left; until then its share stays
 * unused, and for the moment in which a new one is not yet heard, the limit can be passed by that one's share.
 */

import type { Bus } from '@gateway/bus/port'
import { subjects } from '@gateway/contracts/subjects'
import { shareAmong, type Share } from './core/share-limit.ts'

const ANNOUNCE_EVERY_MS = 1_000
const LEFT_AFTER_MS = 3_000

export interface LiveRouters extends AsyncDisposable {
  /** How many live, this one among them. */
  readonly count: number
}

export async function followRouters(bus: Bus, onShare: (share: Share) => void): Promise<LiveRouters> {
  const self = Buffer.from(bus.processId)
  const heardAtMs = new Map<string, number>()
  let last: Share = { index: 0, of: 1 }

  function judge(): void {
    const aliveSinceMs = performance.now() - LEFT_AFTER_MS
    for (const [id, atMs] of heardAtMs) if (atMs < aliveSinceMs) heardAtMs.delete(id)
    const share = shareAmong(bus.processId, heardAtMs, aliveSinceMs)
    if (share.index === last.index && share.of === last.of) return
    last = share
    onShare(share)
  }

  const announce = () => bus.broadcast(subjects.routersAlive, self)
  const listening = await bus.listen(subjects.routersAlive, (payload) => {
    const id = Buffer.from(payload).toString()
    if (id === bus.processId) return
    const isNew = !heardAtMs.has(id)
    heardAtMs.set(id, performance.now())
    if (!isNew) return
    announce()
    judge()
  })
  announce()
  const beat = setInterval(() => {
    announce()
    judge()
  }, ANNOUNCE_EVERY_MS)

  return {
    get count() {
      return last.of
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beat)
      await listening[Symbol.asyncDispose]()
    },
  }
}
