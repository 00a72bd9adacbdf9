/**
 * Limits the concurrent requests to each backend to its `maxConcurrent`. When no target of a job has a free slot, the
 * job waits here. Some events may change that: a slot is freed, a backend is back or out, or an ejection is over. Each
 * of them lets waiting jobs choose again in their turn. So newcomers cannot overtake, and no slot stays idle beside a
 * job that waits.
 *
 * Attempts and probes report here how their targets do, so the waiting jobs miss no change of health.
 */

import { attributeFailure, type BackendFault, type FailureAttribution } from './core/backend-fault.ts'
import * as health from './core/backend-health.ts'
import { FailedBodies, type Body } from './core/failed-bodies.ts'
import { createFairQueue, type Waiter } from '@gateway/in-flight/fair-queue'
import { isFullEvenSo, type Backend, type Capacity, type Target } from './backend-registry.ts'

/** One attempt at a target, with a slot at its backend. */
export interface Slot extends health.Attempt {
  readonly target: Target
  readonly body: Body
}

export interface ConcurrencyLimiter {
  /** Takes a slot. At a half-open target this is the half-open attempt. */
  take(target: Target, request: Requesting): Slot
  /** True if the request has failed there so often that others come first. */
  avoids(target: Target, body: Body): boolean
  /** The first content of the attempt has come. */
  recordContent(slot: Slot): void
  /** The target has done its part. */
  recordSuccess(slot: Slot): void
  recordFailure(slot: Slot, fault: BackendFault): health.Change
  /** A probe that began at `startedAtMs` found the backend so. */
  recordProbe(backend: Backend, startedAtMs: number, found: health.Probed): health.Change
  /** The attempt is over, half-open or not. Its slot is free when its connection is. */
  recordEnd(slot: Slot): void
  free(backend: Backend): void
  /** Resolves with the choice, once `choose` makes one. */
  wait<T>(options: Wait<T>): Promise<Waited<T>>
  /** Backends have changed, or the process stops: all who wait begin again. */
  wakeAll(): void
  readonly waiting: number
}

/** The account of a request, and its body. */
export interface Requesting {
  account: string
  body: Body
}

export interface Wait<T> {
  account: string
  /** True if a slot that is free there may be of use. */
  wants(freed: Capacity): boolean
  /** Takes a slot somewhere, if one is free. */
  choose(): T | null
  /** When time alone gives it another choice; Infinity when it does not. */
  choiceAtMs(): number
  timeoutMs: number
  signal: AbortSignal
}

/** The choice; `in_vain`: the queue was full, or no slot came free in time. */
export type Waited<T> = T | 'choose_again' | 'in_vain'

interface Waiting extends Waiter, Pick<Wait<unknown>, 'wants' | 'choiceAtMs'> {
  /** False when nothing is to be had for it. */
  choose(): boolean
  resolve(waited: 'choose_again' | 'in_vain'): void
}

const MOST_WAITING = 1_024

/** `onFailure`: the health of a backend or of a model has met a failure. */
export function openConcurrencyLimiter(onFailure: () => void = () => {}): ConcurrencyLimiter {
  const queue = createFairQueue<Waiting>(MOST_WAITING, (evicted) => evicted.resolve('in_vain'))
  const failed = new FailedBodies()
  let timer: NodeJS.Timeout | undefined
  let timerAtMs = Infinity

  function take(target: Target, { account, body }: Requesting): Slot {
    const { backend, state } = target
    const slot: Slot = { target, startedAtMs: performance.now(), account, body }
    backend.capacity.outstanding++
    backend.health = health.afterStart(backend.health, slot)
    state.health = health.afterStart(state.health, slot)
    return slot
  }

  /** Changes the health of the backend and of its model. A waiting job may choose a target that a change brings back. */
  function change({ target: { backend, state } }: Slot, after: (before: health.Health) => health.Health): void {
    const [ofBackend, ofModel] = [after(backend.health), after(state.health)]
    if (ofBackend === backend.health && ofModel === state.health) return
    backend.health = ofBackend
    state.health = ofModel
    look()
  }

  function recordContent(slot: Slot): void {
    const { backend } = slot.target
    const nowMs = performance.now()
    if (slot.startedAtMs > backend.respondedFromMs) backend.respondedFromMs = slot.startedAtMs
    change(slot, (before) => health.afterContent(before, slot, nowMs))
  }

  function recordSuccess(slot: Slot): void {
    const nowMs = performance.now()
    failed.recordSuccess(slot.body, slot.target.key)
    change(slot, (before) => health.afterSuccess(before, slot, nowMs))
  }

  function recordFailure(slot: Slot, fault: BackendFault): health.Change {
    const attribution = attributeFailure(fault)
    if (attribution.on === 'nobody') return 'none'
    const attributed = attribution.on === 'backend' ? slot.target.backend : slot.target.state
    const before = attributed.health
    const nowMs = performance.now()
    attributed.health = health.afterFailure(
      before,
      slot,
      attributedFailure(slot, attribution, fault.outcome, nowMs),
      nowMs,
      Math.random(),
    )
    const changed = health.changeOf(before, attributed.health)
    if (changed !== 'none') look()
    onFailure()
    return changed
  }

  function recordProbe(backend: Backend, startedAtMs: number, found: health.Probed): health.Change {
    const before = backend.health
    backend.health = health.afterProbe(before, { startedAtMs }, found, performance.now(), Math.random())
    if (backend.health !== before) look()
    return health.changeOf(before, backend.health)
  }

  /** Remembers the body only for a fault that a body can cause. */
  function attributedFailure(
    { target: { key, backend }, body }: Slot,
    attribution: FailureAttribution,
    outcome: string,
    nowMs: number,
  ): health.AttributedFailure {
    if (attribution.weight === 'hard' || attribution.coolMs !== undefined)
      return { ...attribution, outcome, body: '', failsElsewhere: false }
    const { id } = backend.config
    failed.recordFailure(body, { key, backend: id }, nowMs)
    return { ...attribution, outcome, body: body.digest(), failsElsewhere: failed.failsElsewhere(body, id) }
  }

  function free(backend: Backend): void {
    backend.capacity.outstanding--
    // A job may choose a slot elsewhere, which leaves this one to the next.
    while (queue.size > 0 && !isFullEvenSo(backend)) {
      if (!queue.take((waiting) => waiting.wants(backend.capacity) && waiting.choose())) return
    }
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
    const waitTimer = setTimeout(leave, timeoutMs)
    signal.addEventListener('abort', leave, { once: true })
    return promise.finally(() => {
      clearTimeout(waitTimer)
      signal.removeEventListener('abort', leave)
    })
  }

  function wakeAll(): void {
    for (let next = queue.take(() => true); next; next = queue.take(() => true)) next.resolve('choose_again')
  }

  return {
    take,
    avoids: (target, body) => failed.avoids(body, target.key, performance.now()),
    recordContent,
    recordSuccess,
    recordFailure,
    recordProbe,
    recordEnd: (slot) => change(slot, (before) => health.afterEnd(before, slot)),
    free,
    wait,
    wakeAll,
    get waiting() {
      return queue.size
    },
  }
}
