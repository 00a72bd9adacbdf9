/**
 * Places at backends: each takes `maxConcurrent` requests at once. When all that a job could use are full it waits
 * here; a place that becomes free is handed to the next waiter, so newcomers cannot overtake.
 */

import { createFairQueue, type Waiter } from './core/fair-queue.ts'
import { isFull, type Backend } from './fleet.ts'

export interface Places {
  take(backend: Backend): void
  free(backend: Backend): void
  /** Resolves with the backend whose place was taken for the caller, or null: no room to wait, or waited in vain. */
  wait(options: { account: string; backends: Set<Backend>; timeoutMs: number; signal: AbortSignal }): Promise<Backend | null>
  readonly waiting: number
}

interface Waiting extends Waiter {
  backends: Set<Backend>
  resolve(backend: Backend | null): void
}

const MOST_WAITING = 1_024

export function openPlaces(): Places {
  const queue = createFairQueue<Waiting>(MOST_WAITING, (evicted) => evicted.resolve(null))

  function take(backend: Backend): void {
    backend.outstanding++
  }

  function free(backend: Backend): void {
    backend.outstanding--
    if (isFull(backend)) return
    const next = queue.take((waiting) => waiting.backends.has(backend))
    if (!next) return
    take(backend)
    next.resolve(backend)
  }

  function wait({ account, backends, timeoutMs, signal }: Parameters<Places['wait']>[0]): Promise<Backend | null> {
    const { promise, resolve } = Promise.withResolvers<Backend | null>()
    const waiting: Waiting = { account, backends, resolve }
    if (signal.aborted || !queue.add(waiting)) return Promise.resolve(null)
    const leave = () => {
      queue.remove(waiting)
      resolve(null)
    }
    const timer = setTimeout(leave, timeoutMs)
    signal.addEventListener('abort', leave, { once: true })
    return promise.finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    })
  }

  return {
    take,
    free,
    wait,
    get waiting() {
      return queue.size
    },
  }
}
