/**
 * Runs one job on the routers. It dispatches the job, and dispatches it again while no router took it. It also does so when
 * the router was lost before the client got anything.
 *
 * Exactly one of `onEnd`, `onFailure`, `onInterrupted` comes last. That holds after `stop`, too: the router's last word then
 * states the cost.
 */

import { decodeJson, encodeJson } from '@gateway/rpc/json'
import type { Bus, JobHandle } from '@gateway/bus/port'
import {
  responseEnd,
  responseFailure,
  responseHead,
  type ResponseEnd,
  type ResponseFailure,
  type ResponseHead,
  type JobHeader,
  type PlannedJob,
} from '@gateway/contracts/job'
import { subjects } from '@gateway/contracts/subjects'
import { MOST_LOSSES, retry, type Unavailability } from '../core/dispatch-retries.ts'
import { retryAfterMs } from '../http/load-shedder.ts'

export interface ResponseEvents {
  onHead(head: ResponseHead): void
  onData(bytes: Uint8Array): void
  /** The router keeps its last word until the promise is settled. */
  onEnd(end: ResponseEnd): Promise<void>
  /** The router's own verdict, or `no_router` when nobody took the job in time. */
  onFailure(failure: ResponseFailure): Promise<void>
  /** The router was lost, and the job can go to no other. */
  onInterrupted(): void
  /**
   * Called once: the first router that got the dispatch has taken the job, or it has not. `hasOutcome` is false where the
   * run ends before.
   */
  onFirstDispatch?(hasOutcome: boolean): void
  /** True where the response can begin again: then the job goes to another router, unless it is given up. */
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
  planned: PlannedJob,
  body: Uint8Array,
  deadlineMs: number,
  events: ResponseEvents,
): JobRun {
  const job = new RunningJob(bus, planned, body, deadlineMs, events)
  job.dispatch()
  return job
}

/** Dispatched to the routers, taken by one, responding since its head came, and over. Between two dispatches it pauses. */
type Stage = 'dispatched' | 'taken' | 'responding' | 'paused' | 'over'

class RunningJob implements JobRun {
  readonly #bus: Bus
  readonly #planned: PlannedJob
  readonly #body: Uint8Array
  readonly #events: ResponseEvents
  readonly #deadlineAtMs: number
  readonly #headDueAtMs: number
  #stage: Stage = 'paused'
  /** The client has gone. */
  #isStopped = false
  #dispatches = 0
  #timeouts = 0
  #losses = 0
  #waitingSinceMs = performance.now()
  #handle: JobHandle | undefined
  #router: string | undefined
  #overdueTimer: NodeJS.Timeout
  /** Ends a pause or, once stopped, the wait for the last word. */
  #timer: NodeJS.Timeout | undefined

  constructor(bus: Bus, planned: PlannedJob, body: Uint8Array, deadlineMs: number, events: ResponseEvents) {
    this.#bus = bus
    this.#planned = planned
    this.#body = body
    this.#events = events
    this.#deadlineAtMs = performance.now() + deadlineMs
    this.#headDueAtMs = performance.now() + Math.min(deadlineMs, planned.headWithinMs ?? Infinity)
    this.#overdueTimer = this.#lookAt(this.#headDueAtMs)
  }

  dispatch(acceptTimeoutMs?: number): void {
    this.#stage = 'dispatched'
    const header: JobHeader = {
      ...this.#planned,
      attempt: ++this.#dispatches,
      remainingMs: msUntil(this.#deadlineAtMs),
      headWithinMs: this.#planned.headWithinMs === undefined ? undefined : msUntil(this.#headDueAtMs),
      edgeSettles: true,
    }
    this.#handle = this.#bus.dispatch(
      {
        subject: subjectOf(this.#planned),
        header: encodeJson(header),
        body: this.#body,
        acceptTimeoutMs,
        // The queue may give it to the router that it was lost with, which may be alive and late.
        timeouts: this.#timeouts + this.#losses,
      },
      {
        onAccept: (router) => {
          this.#router = router
          this.#enter('taken')
        },
        onHead: (bytes) => {
          this.#enter('responding')
          this.#events.onHead(responseHead.parse(decodeJson(bytes)))
        },
        onData: (bytes) => this.#events.onData(bytes),
        onEnd: (bytes) => {
          const end = responseEnd.parse(decodeJson(bytes))
          return this.#finish(() => this.#events.onEnd(end))
        },
        onFailure: (bytes) => {
          const failure = responseFailure.parse(decodeJson(bytes))
          return this.#finish(() => this.#events.onFailure(failure))
        },
        onUnavailable: (reason, detail) => this.#dispatchAgain(detail === 'busy' ? 'busy' : reason),
        onLost: () => this.#lost(),
      },
    )
  }

  consumed(bytes: number): void {
    this.#handle?.consumed(bytes)
  }

  stop(): void {
    if (this.#stage === 'over' || this.#isStopped) return
    this.#isStopped = true
    clearTimeout(this.#overdueTimer)
    clearTimeout(this.#timer)
    if (this.#stage === 'paused') return this.#giveUp('Nobody waits for the answer')
    this.#handle!.leave()
    this.#timer = setTimeout(() => {
      this.#handle!.stop()
      this.#interrupted()
    }, LAST_WORD_WITHIN_MS)
  }

  #lost(): void {
    this.#losses++
    this.#waitingSinceMs = performance.now()
    const [router, losses] = [this.#router, this.#losses]
    const isLast = losses >= MOST_LOSSES
    if (this.#isStopped || !this.#events.onRouterLost({ router, losses, isLast })) return this.#interrupted()
    this.#dispatchAgain('lost')
  }

  #dispatchAgain(reason: Unavailability): void {
    this.#enter('paused')
    if (reason === 'timeout') this.#timeouts++
    const nowMs = performance.now()
    const again = this.#isStopped
      ? null
      : retry({
          reason,
          attempt: this.#dispatches,
          losses: this.#losses,
          waitedMs: nowMs - this.#waitingSinceMs,
          remainingMs: this.#headDueAtMs - nowMs,
        })
    if (again) this.#timer = setTimeout(() => this.dispatch(again.acceptTimeoutMs), again.afterMs)
    else if (reason === 'busy') this.#giveUp('The routers have more to do than they can', retryAfterMs())
    else if (this.#losses >= MOST_LOSSES) this.#giveUp('Every router that took the request was lost')
    // Without any router it is an outage, also at the moment when the client's time is over.
    else if (reason !== 'no_responder' && this.#isClientsTimeOver(nowMs)) this.#clientTimedOut()
    else this.#giveUp('No router took the request in time; try again shortly')
  }

  /** The router keeps both times; this guards against one that does not respond at all. */
  #lookAt(dueAtMs: number): NodeJS.Timeout {
    return setTimeout(
      () => {
        const isOverdue = this.#stage !== 'responding' || performance.now() >= this.#deadlineAtMs
        if (isOverdue) this.#events.onOverdue()
        else this.#overdueTimer = this.#lookAt(this.#deadlineAtMs)
      },
      dueAtMs - performance.now() + DEADLINE_GRACE_MS,
    )
  }

  #isClientsTimeOver(nowMs: number): boolean {
    return this.#planned.headWithinMs !== undefined && nowMs >= this.#headDueAtMs
  }

  #clientTimedOut(): void {
    const failure = { code: 'UPSTREAMS_EXHAUSTED' as const, message: 'No router in time', attempted: [], attempts: [] }
    void this.#finish(() => this.#events.onFailure({ ...failure, clientTimedOut: true }))
  }

  /** No router has the job. */
  #giveUp(message: string, comeBackAfterMs?: number): void {
    const failure = { code: 'SERVICE_UNAVAILABLE' as const, message, attempted: [], attempts: [] }
    void this.#finish(() => this.#events.onFailure({ ...failure, retryAfterMs: comeBackAfterMs }))
  }

  #interrupted(): void {
    this.#finish(() => this.#events.onInterrupted())
  }

  #finish<Result>(last: () => Result): Result | undefined {
    if (this.#stage === 'over') return undefined
    this.#enter('over')
    clearTimeout(this.#overdueTimer)
    clearTimeout(this.#timer)
    return last()
  }

  #enter(stage: Stage): void {
    const wasFirstDispatch = this.#stage === 'dispatched' && this.#dispatches === 1
    this.#stage = stage
    if (wasFirstDispatch) this.#events.onFirstDispatch?.(stage !== 'over')
  }
}

/** A router of the last release would serve a compaction as another request, so it gets none. */
function subjectOf({ pool, compaction }: PlannedJob): string {
  return compaction === undefined ? subjects.job(pool) : subjects.compaction(pool)
}

const DEADLINE_GRACE_MS = 2_000
/** Longer than the bus takes to know that a router is lost, also after an outage of its own. */
const LAST_WORD_WITHIN_MS = 45_000

function msUntil(momentMs: number): number {
  return Math.max(0, Math.floor(momentMs - performance.now()))
}
