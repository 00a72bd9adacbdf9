/**
 * Runs one job on the routers: dispatches it, and dispatches it again while nobody took it or its router was lost
 * before the answer began. After the head nothing is repeated: a loss is told to the caller.
 *
 * Exactly one of `onEnd`, `onFailure`, `onInterrupted` comes last, unless `stop` was called.
 */

import type { Bus, JobHandle } from '@gateway/bus/port'
import {
  answerEnd,
  answerFailure,
  answerHead,
  type AnswerEnd,
  type AnswerFailure,
  type AnswerHead,
  type JobHeader,
} from '@gateway/contracts/job'
import { subjects } from '@gateway/contracts/subjects'
import { acceptPatienceMs, redispatchDelayMs, type Unavailability } from './core/redispatch.ts'

export interface AnswerEvents {
  onHead(head: AnswerHead): void
  onData(bytes: Uint8Array): void
  onEnd(end: AnswerEnd): void
  /** The router's own verdict, or `no_router` when nobody took the job in time. */
  onFailure(failure: AnswerFailure): void
  /** The router was lost after the head. */
  onInterrupted(): void
}

export interface JobRun {
  consumed(bytes: number): void
  stop(): void
}

type FixedHeader = Omit<JobHeader, 'attempt' | 'remainingMs'>

export function runJob(
  bus: Bus,
  fixed: FixedHeader,
  body: Uint8Array,
  deadlineMs: number,
  events: AnswerEvents,
): JobRun {
  let handle: JobHandle | null = null
  let retryTimer: NodeJS.Timeout | undefined
  let attempt = 0
  let waitingSinceMs = performance.now()
  let hasHead = false
  let isOver = false
  const deadlineAtMs = performance.now() + deadlineMs
  const headDueAtMs = performance.now() + Math.min(deadlineMs, fixed.headWithinMs ?? Infinity)
  // The router keeps both; this guards against one that does not answer at all.
  let deadlineTimer = setTimeout(timeIsUp, headDueAtMs - performance.now() + DEADLINE_GRACE_MS)

  dispatch()
  return {
    consumed: (bytes) => handle?.consumed(bytes),
    stop() {
      finish(() => handle?.stop())
    },
  }

  function dispatch(): void {
    attempt++
    const remainingMs = msUntil(deadlineAtMs)
    const headWithinMs = fixed.headWithinMs === undefined ? undefined : msUntil(headDueAtMs)
    const header: JobHeader = { ...fixed, attempt, remainingMs, headWithinMs }
    handle = bus.dispatch(
      {
        subject: subjects.job(fixed.pool),
        header: Buffer.from(JSON.stringify(header)),
        body,
        acceptTimeoutMs: acceptPatienceMs(attempt),
      },
      {
        onHead(bytes) {
          hasHead = true
          events.onHead(answerHead.parse(parseJson(bytes)))
        },
        onData: events.onData,
        onEnd: (bytes) => finish(() => events.onEnd(answerEnd.parse(parseJson(bytes)))),
        onFailure: (bytes) => finish(() => events.onFailure(answerFailure.parse(parseJson(bytes)))),
        onUnavailable: (reason) => tryAgain(reason),
        onLost() {
          if (hasHead) finish(events.onInterrupted)
          else tryAgain('lost')
        },
      },
    )
  }

  function tryAgain(reason: Unavailability): void {
    if (isOver) return
    const nowMs = performance.now()
    if (reason === 'lost') waitingSinceMs = nowMs
    const delayMs = redispatchDelayMs(reason, attempt, nowMs - waitingSinceMs, headDueAtMs - nowMs)
    if (delayMs === null) giveUp('No router took the request in time; try again shortly')
    else retryTimer = setTimeout(dispatch, delayMs)
  }

  function timeIsUp(): void {
    const leftMs = deadlineAtMs - performance.now()
    if (hasHead && leftMs > 0) {
      deadlineTimer = setTimeout(timeIsUp, leftMs + DEADLINE_GRACE_MS)
      return
    }
    handle?.stop()
    if (hasHead) finish(events.onInterrupted)
    else giveUp('The time for this request is up')
  }

  function giveUp(message: string): void {
    finish(() => events.onFailure({ code: 'SERVICE_UNAVAILABLE', message, attempted: [], attempts: [] }))
  }

  function finish(last: () => void): void {
    if (isOver) return
    isOver = true
    clearTimeout(deadlineTimer)
    clearTimeout(retryTimer)
    last()
  }
}

const DEADLINE_GRACE_MS = 2_000

function msUntil(momentMs: number): number {
  return Math.max(0, Math.floor(momentMs - performance.now()))
}

function parseJson(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
}
