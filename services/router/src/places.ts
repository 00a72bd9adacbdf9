/**
 * Places at backends: each takes `maxConcurrent` requests at once. When none that a job could use has one, the job waits
 * here. Each event that may change that (a place is freed, a backend is back or out, an ejection is over) lets waiting jobs
 * choose again in their turn, so newcomers cannot overtake and no place stays idle beside a job that waits.
 *
 * Attempts tell here how their targets do, so no change of health is missed by the jobs that wait.
 */

import { blameFor, type BackendFault, type Blame } from './core/backend-fault.ts'
import * as health from './core/backend-health.ts'
import { FailedBodies, type Body } from './core/failed-bodies.ts'
import { createFairQueue, type Waiter } from '@gateway/service/fair-queue'
import { isFullEvenSo, type Backend, type Target } from './fleet.ts'

/** One attempt at a target: a place at its backend, and its trial where it is on one. */
export interface Seat extends health.Attempt {
  readonly target: Target
  readonly body: Body
}

export interface Places {
  /** Takes a place, and the trial of a target that is on one. */
  take(target: Target, request: Asking): Seat
  /** Whether the request has failed there so often that others are asked first. */
  spares(target: Target, body: Body): boolean
  /** The first content of the attempt has come. */
  noteContent(seat: Seat): void
  /** The target has done its part. */
  noteSuccess(seat: Seat): void
  noteFault(seat: Seat, fault: BackendFault): health.Change
  /** The attempt is over, and its trial with it. Its place is free when its connection is. */
  noteEnd(seat: Seat): void
  free(backend: Backend): void
  /** Resolves with the choice, once `choose` makes one. */
  wait<T>(options: Wait<T>): Promise<Waited<T>>
  /** Backends have changed, or the process stops: all who wait begin anew. */
  wakeAll(): void
  readonly waiting: number
}

/** Who asks, and with which body. */
export interface Asking {
  account: string
  body: Body
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

/** The choice; `in_vain`: there was no room to wait, or no place in time. */
export type Waited<T> = T | 'choose_again' | 'in_vain'

interface Waiting extends Waiter, Pick<Wait<unknown>, 'wants' | 'choiceAtMs'> {
  /** False when nothing is to be had for it. */
  choose(): boolean
  resolve(waited: 'choose_again' | 'in_vain'): void
}

const MOST_WAITING = 1_024

export function openPlaces(): Places {
  const queue = createFairQueue<Waiting>(MOST_WAITING, (evicted) => evicted.resolve('in_vain'))
  const failed = new FailedBodies()
  let timer: NodeJS.Timeout | undefined
  let timerAtMs = Infinity

  function take(target: Target, { account, body }: Asking): Seat {
    const { backend, state } = target
    const seat: Seat = { target, startedAtMs: performance.now(), account, body }
    backend.outstanding++
    backend.health = health.afterStart(backend.health, seat)
    state.health = health.afterStart(state.health, seat)
    return seat
  }

  /** Of the backend and of its model. A waiting job may choose a target that a change brings back. */
  function change({ target: { backend, state } }: Seat, after: (before: health.Health) => health.Health): void {
    const [ofBackend, ofModel] = [after(backend.health), after(state.health)]
    if (ofBackend === backend.health && ofModel === state.health) return
    backend.health = ofBackend
    state.health = ofModel
    look()
  }

  function noteContent(seat: Seat): void {
    const { backend } = seat.target
    const nowMs = performance.now()
    if (seat.startedAtMs > backend.answeredFromMs) backend.answeredFromMs = seat.startedAtMs
    change(seat, (before) => health.afterContent(before, seat, nowMs))
  }

  function noteSuccess(seat: Seat): void {
    const nowMs = performance.now()
    failed.noteSuccess(seat.body, seat.target.key)
    change(seat, (before) => health.afterSuccess(before, seat, nowMs))
  }

  function noteFault(seat: Seat, fault: BackendFault): health.Change {
    const blame = blameFor(fault)
    if (blame.on === 'nobody') return 'none'
    const blamed = blame.on === 'backend' ? seat.target.backend : seat.target.state
    const before = blamed.health
    const nowMs = performance.now()
    blamed.health = health.afterFault(before, seat, blamedFault(seat, blame, nowMs), nowMs, Math.random())
    const changed = health.changeOf(before, blamed.health)
    if (changed !== 'none') look()
    return changed
  }

  /** Only what a body can cause is remembered of it. */
  function blamedFault({ target: { key, backend }, body }: Seat, blame: Blame, nowMs: number): health.BlamedFault {
    if (blame.weight === 'hard' || blame.coolMs !== undefined) return { ...blame, body: '', failsElsewhere: false }
    const { id } = backend.config
    failed.noteFailure(body, { key, backend: id }, nowMs)
    return { ...blame, body: body.digest(), failsElsewhere: failed.failsElsewhere(body, id) }
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
        resolve(choice)
        return true
      },
    }
    if (signal.aborted || !queue.add(waiting)) return Promise.resolve('in_vain')
    lookAt(choiceAtMs())
    const leave = () => {
      queue.remove(waiting)
      resolve('in_vain')
    }
    const patience = setTimeout(leave, timeoutMs)
    signal.addEventListener('abort', leave, { once: true })
    return promise.finally(() => {
      clearTimeout(patience)
      signal.removeEventListener('abort', leave)
    })
  }

  function wakeAll(): void {
    for (let next = queue.take(() => true); next; next = queue.take(() => true)) next.resolve('choose_again')
  }

  return {
    take,
    spares: (target, body) => failed.spares(body, target.key, performance.now()),
    noteContent,
    noteSuccess,
    noteFault,
    noteEnd: (seat) => change(seat, (before) => health.afterEnd(before, seat)),
    free,
    wait,
    wakeAll,
    get waiting() {
      return queue.size
    },
  }
}
