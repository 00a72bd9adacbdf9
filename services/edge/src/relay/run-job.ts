/**
 * Runs one job on the routers: dispatches it, and dispatches it again while nobody took it or its router was lost before
 * the client was given anything.
 *
 * Exactly one of `onEnd`, `onFailure`, `onInterrupted` comes last. That holds after `stop`, too: the router's last word
 * then tells the cost.
 */

import { decodeJson, encodeJson } from '@gateway/bus/json'
import type { Bus, JobHandle } from '@gateway/bus/port'
import {
  answerEnd,
  answerFailure,
  answerHead,
  type AnswerEnd,
  type AnswerFailure,
  type AnswerHead,
  type JobHeader,
  type PlannedJob,
} from '@gateway/contracts/job'
import { subjects } from '@gateway/contracts/subjects'
import { acceptPatienceMs, MOST_LOSSES, redispatchDelayMs, type Unavailability } from '../core/redispatch.ts'
import { retryAfterMs } from '../listen/intake.ts'

export interface AnswerEvents {
  onHead(head: AnswerHead): void
  onData(bytes: Uint8Array): void
  /** The router keeps its last word until the promise is settled. */
  onEnd(end: AnswerEnd): Promise<void>
  /** The router's own verdict, or `no_router` when nobody took the job in time. */
  onFailure(failure: AnswerFailure): Promise<void>
  /** The router was lost, and the job can go to no other. */
  onInterrupted(): void
  /** Once: the first router that was asked has taken the job, or it has not. `isAnswered` is false where the run ends before. */
  onOffered?(isAnswered: boolean): void
  /** Whether the answer can begin anew: then the job goes to another router, unless it is given up. */
  onRouterLost(loss: RouterLoss): boolean
  /** The time is up. The router keeps the time, but has not said so. */
  onOverdue(): void
}

export interface RouterLoss {
  /** The process that had the job. */
  router: string | undefined
  /** Routers that this job has lost so far. */
  losses: number
  /** The edge gives the job up. */
  isLast: boolean
}

export interface JobRun {
  consumed(bytes: number): void
  /** The client has gone. */
  stop(): void
}

export function runJob(
  bus: Bus,
  fixed: PlannedJob,
  body: Uint8Array,
  deadlineMs: number,
  events: AnswerEvents,
): JobRun {
  /** Null between two dispatches. */
  let handle: JobHandle | null = null
  let timer: NodeJS.Timeout | undefined
  let attempt = 0
  let losses = 0
  let router: string | undefined
  let waitingSinceMs = performance.now()
  let isStopped = false
  let isOver = false
  let isOffered = false
  let hasHead = false
  const deadlineAtMs = performance.now() + deadlineMs
  const headDueAtMs = performance.now() + Math.min(deadlineMs, fixed.headWithinMs ?? Infinity)
  // The router keeps both; this guards against one that does not answer at all.
  let deadlineTimer = setTimeout(timeIsUp, headDueAtMs - performance.now() + DEADLINE_GRACE_MS)

  dispatch()
  return {
    consumed: (bytes) => handle?.consumed(bytes),
    stop,
  }

  function dispatch(): void {
    attempt++
    const remainingMs = msUntil(deadlineAtMs)
    const headWithinMs = fixed.headWithinMs === undefined ? undefined : msUntil(headDueAtMs)
    const header: JobHeader = { ...fixed, attempt, remainingMs, headWithinMs, edgeSettles: true }
    handle = bus.dispatch(
      {
        subject: subjects.job(fixed.pool),
        header: encodeJson(header),
        body,
        acceptTimeoutMs: acceptPatienceMs(attempt),
      },
      {
        onAccept(workerId) {
          router = workerId
          offered(true)
        },
        onHead(bytes) {
          hasHead = true
          events.onHead(answerHead.parse(decodeJson(bytes)))
        },
        onData: events.onData,
        onEnd(bytes) {
          const end = answerEnd.parse(decodeJson(bytes))
          return finish(() => events.onEnd(end))
        },
        onFailure(bytes) {
          const failure = answerFailure.parse(decodeJson(bytes))
          return finish(() => events.onFailure(failure))
        },
        onUnavailable(reason, detail) {
          offered(true)
          tryAgain(detail === 'busy' ? 'busy' : reason)
        },
        onLost: lost,
      },
    )
  }

  function lost(): void {
    losses++
    waitingSinceMs = performance.now()
    const isLast = losses >= MOST_LOSSES
    if (isStopped || !events.onRouterLost({ router, losses, isLast })) return void finish(events.onInterrupted)
    hasHead = false
    tryAgain('lost')
  }

  function tryAgain(reason: Unavailability): void {
    handle = null
    const nowMs = performance.now()
    const waitedMs = nowMs - waitingSinceMs
    const delayMs = isStopped
      ? null
      : redispatchDelayMs({ reason, attempt, losses, waitedMs, remainingMs: headDueAtMs - nowMs })
    if (delayMs !== null) timer = setTimeout(dispatch, delayMs)
    else if (reason === 'busy') giveUp('The routers have more to do than they can', retryAfterMs())
    else if (losses >= MOST_LOSSES) giveUp('Every router that took the request was lost')
    else giveUp('No router took the request in time; try again shortly')
  }

  function timeIsUp(): void {
    const leftMs = deadlineAtMs - performance.now()
    if (!hasHead || leftMs <= 0) return events.onOverdue()
    deadlineTimer = setTimeout(timeIsUp, leftMs + DEADLINE_GRACE_MS)
  }

  /** No router has the job. */
  function giveUp(message: string, comeBackAfterMs?: number): void {
    const failure = { code: 'SERVICE_UNAVAILABLE' as const, message, attempted: [], attempts: [] }
    finish(() => void events.onFailure({ ...failure, retryAfterMs: comeBackAfterMs }))
  }

  function offered(isAnswered: boolean): void {
    if (isOffered) return
    isOffered = true
    events.onOffered?.(isAnswered)
  }

  function stop(): void {
    if (isOver || isStopped) return
    isStopped = true
    clearTimeout(deadlineTimer)
    clearTimeout(timer)
    if (!handle) return giveUp('Nobody waits for the answer')
    handle.leave()
    timer = setTimeout(() => {
      handle?.stop()
      finish(events.onInterrupted)
    }, LAST_WORD_WITHIN_MS)
  }

  function finish<Result>(last: () => Result): Result | undefined {
    if (isOver) return undefined
    isOver = true
    offered(false)
    clearTimeout(deadlineTimer)
    clearTimeout(timer)
    return last()
  }
}

const DEADLINE_GRACE_MS = 2_000
/** Longer than the bus takes to know that a router is lost, also after an outage of its own. */
const LAST_WORD_WITHIN_MS = 45_000

function msUntil(momentMs: number): number {
  return Math.max(0, Math.floor(momentMs - performance.now()))
}
