/**
 * Refuses requests while this edge, the admission store or the routers are late, before anything is read of them.
 *
 * Only the gateway's own part of a request's time counts: the call of admission, and from the job's dispatch to its
 * acceptance. Backends, slow clients and databases have no part in it.
 */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import {
  createShedLimit,
  hasCapacity,
  hasCapacityForStranger,
  judge,
  noteRefusedBehind,
  noteTurnedAway,
  noteWait,
  WINDOW_MS,
} from '../core/shed-limit.ts'
import { holdConnections } from './held-connections.ts'
import { prepareRefusal } from './refusal.ts'
import type { ErrorSettings } from './send-error.ts'
import { measuredOf, type Step } from './take-steps.ts'
import type { EdgeMetrics } from '../metrics.ts'

/**
 * A client waits for some turns of the same event loops more until its answer begins. `least`: all processes together do
 * so many within some 50 ms, and within the target on a machine a fifth as fast.
 */
const TUNING = { targetMs: 250, least: 64, most: 1_024 }

export interface LoadShedder extends Disposable {
  /** `isKnown`: this edge has served its sender before. */
  hasCapacity(isKnown: () => boolean): boolean
  enter(): void
  leave(): void
  /** The request on this connection was refused. Leaves the next one unread until then, or until there is room. */
  holdBack(socket: Socket, untilMs: number): void
  /** One has come to a router, or to none, after all of its waits together. */
  arrived(sinceMs: number): void
  /** The admission store answered, and the caller may not go on. */
  turnedAway(): void
  /** The routers gave a request back, because they are late. */
  refusedBehind(): void
  readonly count: number
  readonly limit: number
}

export function openLoadShedder(): LoadShedder {
  const limit = createShedLimit(TUNING, performance.now())
  let count = 0
  const held = holdConnections()
  const timer = setInterval(() => {
    judge(limit, count, performance.now())
    held.resumeDue(performance.now())
  }, WINDOW_MS).unref()
  return {
    hasCapacity: (isKnown) =>
      hasCapacityForStranger(limit, count, performance.now()) ||
      (hasCapacity(limit, count, performance.now()) && isKnown()),
    enter: () => void count++,
    leave() {
      count--
      if (held.count > 0 && count < limit.value) held.resumeNewest()
    },
    holdBack: held.hold,
    arrived: (sinceMs) => noteWait(limit, sinceMs, performance.now()),
    turnedAway: () => noteTurnedAway(limit),
    refusedBehind: () => noteRefusedBehind(limit),
    get count() {
      return count
    },
    get limit() {
      return limit.value
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

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
    metrics.shed('late')
    measuredOf(response).failure = 'SERVICE_UNAVAILABLE'
    refuseInTurn(() => {
      // A client that has left has not waited for it.
      if (response.destroyed) return
      const waitMs = retryAfterMs()
      send(request, response, waitMs)
      shedder.holdBack(request.socket, performance.now() + waitMs)
    })
  }
}

/** In one turn: what the rest of the process has to say goes out in between. */
export const REFUSED_AT_ONCE = 256
let refusals: (() => void)[] = []
let refusedInTurn = 0

/**
 * A refusal is answered by the next request of its connection within the same turn of the event loop. With thousands of
 * connections the turn would have no end, and whatever leaves at its end, timers and heartbeats too, would wait for it. So only
 * the first of a turn go at once: with a thousand connections, one that waits costs 7 µs more (`dev/bench/refusals/run.ts`).
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
