/**
 * Places at backends: each takes `maxConcurrent` requests at once. When none that a job could use has one, the job waits
 * here. Each event that may change that (a place is freed, a backend is back or out, an ejection is over) lets waiting jobs
 * choose again in their turn, so newcomers cannot overtake and no place stays idle beside a job that waits.
 */

import { createFairQueue, type Waiter } from './core/fair-queue.ts'
import { isFullEvenSo, noteStart, type Backend, type Seat, type Target } from './fleet.ts'

export interface Places {
  /** Takes a place, and the trial of a target that is on one. */
  take(target: Target): Seat
  free(backend: Backend): void
  /** Resolves with what `choose` gave, once it gives something. */
  wait<T>(options: Wait<T>): Promise<Waited<T>>
  /** The health of a backend has changed: who waits may choose another. */
  look(): void
  /** Backends have changed, or the process stops: all who wait begin anew. */
  wakeAll(): void
  readonly waiting: number
}

export interface Wait<T> {
  account: string
  /** Whether a place that is free at the backend may be of use. */
  wants(backend: Backend): boolean
  /** Takes a place somewhere, if one is to be had. */
  choose(): T | null
  /** When time alone gives it another choice; Infinity when it does not. */
  choiceAtMs(): number
  timeoutMs: number
  signal: AbortSignal
}

export type Waited<T> =
  | { kind: 'chosen'; choice: T }
  | { kind: 'choose_again' }
  /** No room to wait, or waited in vain. */
  | { kind: 'in_vain' }

interface Waiting extends Waiter, Pick<Wait<unknown>, 'wants' | 'choiceAtMs'> {
  /** False when nothing is to be had for it. */
  choose(): boolean
  resolve(waited: Exclude<Waited<unknown>, { kind: 'chosen' }>): void
}

const IN_VAIN = { kind: 'in_vain' } as const

const MOST_WAITING = 1_024

export function openPlaces(): Places {
  const queue = createFairQueue<Waiting>(MOST_WAITING, (evicted) => evicted.resolve(IN_VAIN))
  let timer: NodeJS.Timeout | undefined
  let timerAtMs = Infinity

  function take(target: Target): Seat {
    target.backend.outstanding++
    return noteStart(target, performance.now())
  }

  function free(backend: Backend): void {
    backend.outstanding--
    if (queue.size > 0 && !isFullEvenSo(backend)) queue.take((waiting) => waiting.wants(backend) && waiting.choose())
  }

  function look(): void {
    clearTimeout(timer)
    timerAtMs = Infinity
    while (queue.take((waiting) => waiting.choose()));
    queue.each((waiting) => lookAt(waiting.choiceAtMs()))
  }

  /** One timer for all who wait. */
  function lookAt(atMs: number): void {
    if (atMs >= timerAtMs) return
    timerAtMs = atMs
    clearTimeout(timer)
    timer = setTimeout(look, Math.max(1, Math.ceil(atMs - performance.now())))
    timer.unref()
  }

  function wait<T>({ account, wants, choose, choiceAtMs, timeoutMs, signal }: Wait<T>): Promise<Waited<T>> {
    const { promise, resolve } = Promise.withResolvers<Waited<T>>()
    const waiting: Waiting = {
      account,
      wants,
      choiceAtMs,
      resolve,
      choose() {
        const choice = choose()
        if (choice === null) return false
        resolve({ kind: 'chosen', choice })
        return true
      },
    }
    if (signal.aborted || !queue.add(waiting)) return Promise.resolve(IN_VAIN)
    lookAt(choiceAtMs())
    const leave = () => {
      queue.remove(waiting)
      resolve(IN_VAIN)
    }
    const patience = setTimeout(leave, timeoutMs)
    signal.addEventListener('abort', leave, { once: true })
    return promise.finally(() => {
      clearTimeout(patience)
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
    look,
    wakeAll,
    get waiting() {
      return queue.size
    },
  }
}
