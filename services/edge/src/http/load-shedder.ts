/**
 * Lets requests wait, and then refuses them, while this edge, the admission store or the routers are late. The edge reads
 * nothing of them before.
 *
 * Only the gateway's own part of a request's time counts: the call of admission, and from the job's dispatch to its
 * acceptance. Backends, slow clients and databases have no part in it.
 */

import type { IncomingMessage } from 'node:http'
import {
  beginWindow,
  createShedLimit,
  hasCapacity,
  hasCapacityForStranger,
  isAtRest,
  judge,
  noteRefusedBehind,
  noteTurnedAway,
  noteWait,
  WINDOW_MS,
} from '../core/shed-limit.ts'
import { LONGEST_WAIT_MS, waitableBytes, type Waiting, WaitingLine } from './waiting-line.ts'
import { prepareRefusal } from './refusal.ts'
import type { ErrorSettings } from './send-error.ts'
import { measuredOf, type Step } from './take-steps.ts'
import type { EdgeMetrics } from '../metrics.ts'

/**
 * A client waits for some turns of the same event loops more until its response begins. `least`: all processes together do so
 * many within some 50 ms, and within the target on a machine a fifth as fast.
 */
const TUNING = { targetMs: 250, least: 64, most: 1_024 }

export interface LoadShedder extends Disposable {
  /** `isKnown`: this edge has served its sender before. */
  hasCapacity(isKnown: () => boolean): boolean
  enter(): void
  leave(): void
  /** Lets a request wait for capacity, behind all that wait already. False: the line is full. */
  wait(waiting: Waiting, isKnown: boolean): boolean
  /** One has come to a router, or to none, after all of its waits together. */
  arrived(sinceMs: number): void
  /** The admission store responded, and the caller may not go on. */
  turnedAway(): void
  /** The routers gave a request back, because they are late. */
  refusedBehind(): void
  readonly count: number
  readonly limit: number
}

export function openLoadShedder(): LoadShedder {
  const limit = createShedLimit(TUNING, performance.now())
  let count = 0
  const known = new WaitingLine()
  const strangers = new WaitingLine()

  /** Undefined while the edge is at rest. */
  let judging: NodeJS.Timeout | undefined
  const watch = () => {
    if (judging !== undefined) return
    beginWindow(limit, count, performance.now())
    judging = setInterval(judgeWindow, WINDOW_MS).unref()
  }
  const judgeWindow = () => {
    judge(limit, count, performance.now())
    for (let free = limit.value - count; free > 0 && admitNext(); free--);
    if (count > 0 || known.size > 0 || strangers.size > 0 || !isAtRest(limit)) return
    clearInterval(judging)
    judging = undefined
  }
  /** While somebody waits. */
  let refusing: NodeJS.Timeout | undefined
  const refuseDue = () => {
    const nowMs = performance.now()
    for (const line of [known, strangers]) for (const waiting of line.takeDue(nowMs)) waiting.refuse()
    if (known.size > 0 || strangers.size > 0) return
    clearInterval(refusing)
    refusing = undefined
  }

  /** False: there is no capacity, or nobody waits for it. */
  function admitNext(): boolean {
    const nowMs = performance.now()
    let next: Waiting | undefined
    if (known.size > 0 && hasCapacity(limit, count, nowMs)) next = known.take()
    if (!next && strangers.size > 0 && hasCapacityForStranger(limit, count, nowMs)) next = strangers.take()
    next?.run()
    return next !== undefined
  }

  return {
    hasCapacity(isKnown) {
      watch()
      const nowMs = performance.now()
      if (strangers.size === 0 && known.size === 0 && hasCapacityForStranger(limit, count, nowMs)) return true
      return known.size === 0 && hasCapacity(limit, count, nowMs) && isKnown()
    },
    wait(waiting, isKnown) {
      refusing ??= setInterval(refuseDue, REFUSE_EVERY_MS).unref()
      return (isKnown ? known : strangers).add(waiting)
    },
    enter() {
      watch()
      count++
    },
    leave() {
      count--
      if (known.size > 0 || strangers.size > 0) admitNext()
    },
    arrived: (sinceMs) => noteWait(limit, sinceMs, performance.now()),
    turnedAway: () => noteTurnedAway(limit),
    refusedBehind: () => noteRefusedBehind(limit),
    get count() {
      return count
    },
    get limit() {
      return limit.value
    },
    [Symbol.dispose]() {
      clearInterval(judging)
      clearInterval(refusing)
    },
  }
}

/** Requests that have waited in vain are refused at this interval. */
const REFUSE_EVERY_MS = 50

/** Two refused at once should not come back at once. */
const RETRY_AFTER_LEAST_MS = 500
const RETRY_AFTER_SPREAD_MS = 1_000

export function retryAfterMs(): number {
  return RETRY_AFTER_LEAST_MS + Math.floor(Math.random() * RETRY_AFTER_SPREAD_MS)
}

/** A refusal has to cost next to nothing, since there are many of them: no error is thrown, nothing is logged. */
const OVERLOADED = { code: 'SERVICE_UNAVAILABLE', message: 'The gateway is overloaded; try again shortly' } as const

interface Refuser extends ErrorSettings {
  shedder: LoadShedder
  metrics: EdgeMetrics
}

export function refuseWhileLate(edge: Refuser, isKnown: (request: IncomingMessage) => boolean): Step {
  const { shedder, metrics } = edge
  const send = prepareRefusal(OVERLOADED, edge)
  return (request, response, next) => {
    if (shedder.hasCapacity(() => isKnown(request))) return next()
    const refuse = () => {
      metrics.shed('late')
      measuredOf(response).failure = 'SERVICE_UNAVAILABLE'
      refuseInTurn(() => {
        // A client that has left has not waited for it.
        if (!response.destroyed) send(request, response, retryAfterMs())
      })
    }
    const bytes = waitableBytes(request)
    const untilMs = performance.now() + LONGEST_WAIT_MS
    const mayWait = bytes !== null && shedder.wait({ response, bytes, untilMs, run: next, refuse }, isKnown(request))
    if (!mayWait) refuse()
  }
}

/** So many refusals go in one turn. All other messages of the process go out in between. */
export const REFUSED_AT_ONCE = 256
let refusals: (() => void)[] = []
let refusedInTurn = 0

/**
 * The next request of a refused connection comes within the same turn of the event loop. With thousands of connections the
 * turn would have no end. Everything that leaves at its end, timers and heartbeats too, would wait for it. So only the first
 * of a turn go at once: with a thousand connections, one that waits costs 7 µs more (`dev/bench/refusals/run.ts`).
 */
function refuseInTurn(refuse: () => void): void {
  if (refusedInTurn === 0) setImmediate(beginTurn)
  if (++refusedInTurn > REFUSED_AT_ONCE) refusals.push(refuse)
  else refuse()
}

function beginTurn(): void {
  const some = refusals.slice(0, REFUSED_AT_ONCE)
  refusals = refusals.slice(REFUSED_AT_ONCE)
  refusedInTurn = some.length
  if (refusedInTurn > 0) setImmediate(beginTurn)
  for (const refuse of some) refuse()
}
