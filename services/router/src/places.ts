/**
 * Places at backends: each takes `maxConcurrent` requests at once. When all that a job could use are full it waits
 * here; a place that becomes free is handed to the next waiter, so newcomers cannot overtake.
 *
 * Who waits at backends where this router has no place at all, as more routers live than there are places, is let
 * through one at a time.
 */

import { createFairQueue, type Waiter } from './core/fair-queue.ts'
import { isFullEvenSo, type Backend } from './fleet.ts'

export interface Places {
  take(backend: Backend): void
  free(backend: Backend): void
  wait(options: { account: string; backends: Set<Backend>; timeoutMs: number; signal: AbortSignal }): Promise<Waited>
  /** Backends have changed, or the process stops: all who wait choose again. */
  wakeAll(): void
  readonly waiting: number
}

export type Waited =
  /** A place there has been taken for the caller. */
  | { kind: 'place'; backend: Backend }
  | { kind: 'choose_again' }
  /** No room to wait, or waited in vain. */
  | { kind: 'in_vain' }

interface Waiting extends Waiter {
  backends: Set<Backend>
  resolve(waited: Waited): void
}

const IN_VAIN: Waited = { kind: 'in_vain' }

const MOST_WAITING = 1_024

export function openPlaces(): Places {
  const queue = createFairQueue<Waiting>(MOST_WAITING, (evicted) => evicted.resolve(IN_VAIN))

  function take(backend: Backend): void {
    backend.outstanding++
  }

  function free(backend: Backend): void {
    backend.outstanding--
    if (isFullEvenSo(backend)) return
    const next = queue.take((waiting) => waiting.backends.has(backend))
    if (!next) return
    take(backend)
    next.resolve({ kind: 'place', backend })
  }

  function wait({ account, backends, timeoutMs, signal }: Parameters<Places['wait']>[0]): Promise<Waited> {
    const free = [...backends].find((backend) => !isFullEvenSo(backend))
    if (free && !signal.aborted) {
      take(free)
      return Promise.resolve({ kind: 'place', backend: free })
    }
    const { promise, resolve } = Promise.withResolvers<Waited>()
    const waiting: Waiting = { account, backends, resolve }
    if (signal.aborted || !queue.add(waiting)) return Promise.resolve(IN_VAIN)
    const leave = () => {
      queue.remove(waiting)
      resolve(IN_VAIN)
    }
    const timer = setTimeout(leave, timeoutMs)
    signal.addEventListener('abort', leave, { once: true })
    return promise.finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    })
  }

  function wakeAll(): void {
    for (let next = queue.take(() => true); next; next = queue.take(() => true)) next.resolve({ kind: 'choose_again' })
  }

  return {
    take,
    free,
    wait,
    wakeAll,
    get waiting() {
      return queue.size
    },
  }
}
