/**
 * Refuses requests while this edge, the admission store or the routers are late, before anything is read of them.
 *
 * What is counted is the part of a request's way that the gateway alone is answerable for: the call of admission, and from
 * the job's dispatch to its acceptance. Backends, slow clients and databases have no part in it.
 */

import type { ServerResponse } from 'node:http'
import {
  createIntakeLimit,
  hasRoom,
  judge,
  noteRefusedBehind,
  noteWait,
  WINDOW_MS,
} from '@gateway/service/core/intake-limit'
import { measuredOf } from './measure-request.ts'
import type { Edge } from './edge.ts'
import type { Step } from './walk.ts'

/** A client waits for some turns of the same event loops more until its answer begins. */
const TUNING = { targetMs: 250, least: 8, most: 1_024 }

export interface Intake extends Disposable {
  hasRoom(): boolean
  /** Answers when, for `end`. */
  begin(): number
  end(beganAtMs: number): void
  /** The routers gave a request back, because they are late. */
  refusedBehind(): void
  readonly count: number
  readonly limit: number
}

export function openIntake(): Intake {
  const limit = createIntakeLimit(TUNING, performance.now())
  let count = 0
  const timer = setInterval(() => judge(limit, count, performance.now()), WINDOW_MS).unref()
  return {
    hasRoom: () => hasRoom(limit, count),
    begin() {
      count++
      return performance.now()
    },
    end(beganAtMs) {
      count--
      noteWait(limit, beganAtMs, performance.now())
    },
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

const SENTENCE = 'The gateway has more to do than it can; try again shortly'

/** A refusal has to cost next to nothing, since there are many of them: no error is made, nothing is logged. */
export function refuseWhileLate({ intake, metrics }: Pick<Edge, 'intake' | 'metrics'>): Step {
  const body = Buffer.from(JSON.stringify({ error: SENTENCE, code: 'SERVICE_UNAVAILABLE' }))
  return (_request, response, next) => {
    if (intake.hasRoom()) return next()
    metrics.shed('late')
    measuredOf(response).failure = 'SERVICE_UNAVAILABLE'
    refuse(response, body)
  }
}

function refuse(response: ServerResponse, body: Buffer): void {
  const waitMs = retryAfterMs()
  response.writeHead(503, {
    'retry-after-ms': String(waitMs),
    'retry-after': String(Math.ceil(waitMs / 1_000)),
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.byteLength,
  })
  response.end(body)
}
