/**
 * One job until a worker takes it. The caller publishes it for the queue or for a worker that it names, and waits for
 * the accept. Without a connection, and after an outage that the caller shared, it offers the job again.
 */

import { encodeMessages, frameKind, encodeJob, encodeOffer, jobOverhead } from '../core/messages.ts'
import { isRecovering } from '../core/liveness.ts'
import { framesSubject, type Inbox } from '../inbox.ts'
import { LivedTimeout } from '../event-loop.ts'
import type { JobEvents, OutgoingJob } from '../port.ts'
import type { StreamContext } from './context.ts'

const SETTLING_RETRY_MS = 50

export interface OfferContext extends StreamContext {
  readonly inbox: Inbox
  readonly workers: RecentWorkers
}

export class Offer {
  readonly #stream: number
  readonly #job: OutgoingJob
  readonly #partBytes: number
  readonly #context: OfferContext
  readonly #onUnavailable: JobEvents['onUnavailable']
  /** There was no connection to offer the job on. */
  #isHeld = false
  #hasReaderLeft = false
  #offeredAtMs = 0
  #timer: LivedTimeout | undefined

  constructor(
    stream: number,
    job: OutgoingJob,
    partBytes: number,
    context: OfferContext,
    onUnavailable: JobEvents['onUnavailable'],
  ) {
    this.#stream = stream
    this.#job = job
    this.#partBytes = partBytes
    this.#context = context
    this.#onUnavailable = onUnavailable
  }

  /** Publishes the job, or holds it until the connection is back. */
  make(): void {
    const { wire, tuning, processId, now } = this.#context
    const { header, body } = this.#job
    const overhead = jobOverhead(processId, header)
    if (overhead > wire.maxPayloadBytes) {
      queueMicrotask(() => this.#onUnavailable('rejected', `a job header of ${header.length} bytes is too large`))
      return
    }
    this.#isHeld = !wire.connected
    this.#offeredAtMs = now()
    if (this.#isHeld) return this.#waitForAccept(this.#acceptTimeoutMs + tuning.graceMs)
    this.#waitForAccept(this.#acceptTimeoutMs)
    const inline = body.length <= tuning.inlineBytes && overhead + body.length <= wire.maxPayloadBytes
    this.#publish(
      encodeJob({ callerId: processId, stream: this.#stream, header, body, inline, partBytes: this.#partBytes }),
    )
  }

  get #acceptTimeoutMs(): number {
    return this.#job.acceptTimeoutMs ?? this.#context.tuning.acceptTimeoutMs
  }

  #publish(job: Uint8Array): void {
    const { wire, inbox } = this.#context
    if (!this.#publishByName(job)) wire.publish(this.#job.subject, job, inbox.address('j', this.#stream))
  }

  /** Returns false when the queue is to pick the worker. */
  #publishByName(job: Uint8Array): boolean {
    const { wire, tuning, processId, workers } = this.#context
    const { subject, timeouts = 0 } = this.#job
    // Each earlier offer waited for so long at least: a worker that accepted since is awake.
    const worker = workers.choose(subject, timeouts, this.#offeredAtMs - tuning.acceptTimeoutMs)
    if (worker === undefined) return false
    const frame = { kind: frameKind.offer, stream: this.#stream, n: 0, bytes: encodeOffer(subject, job) }
    const [message] = encodeMessages(processId, [frame], wire.maxPayloadBytes)
    if (message!.length > wire.maxPayloadBytes) return false
    wire.publish(framesSubject(worker), message!)
    return true
  }

  #waitForAccept(timeoutMs: number): void {
    this.#timer?.clear()
    this.#timer = new LivedTimeout(() => this.#onUnavailable('timeout'), timeoutMs)
  }

  /** The connection is back. */
  connected(): void {
    if (!this.#isHeld) return
    if (this.#hasReaderLeft) this.#onUnavailable('timeout')
    else this.make()
  }

  /** Nobody serves the subject; after an outage that we shared, somebody may be about to again. */
  noResponder(): void {
    if (this.#isHeld) return
    const { liveness, now } = this.#context
    if (this.#hasReaderLeft || !isRecovering(liveness, now())) return this.#onUnavailable('no_responder')
    this.#timer?.clear()
    this.#timer = new LivedTimeout(() => this.make(), SETTLING_RETRY_MS)
  }

  /** No reader waits any more, so a worker that has taken the job gets all the time in which it counts as alive. */
  readerLeft(): void {
    this.#hasReaderLeft = true
    if (!this.#isHeld) this.#waitForAccept(this.#context.tuning.lostAfterMs)
  }

  accepted(worker: string): void {
    this.close()
    const { workers, now } = this.#context
    workers.accepted(this.#job.subject, worker, now())
  }

  close(): void {
    this.#timer?.clear()
  }
}

/** The most workers of one subject. A worker has a new name each time it starts, so old names gather. */
const MOST_WORKERS = 64

/**
 * Chooses the worker that a caller names in its next offer of a job, after a worker of the group's queue did not
 * accept it.
 *
 * A queue picks blindly: it gives a frozen worker its share of the jobs, and a job may meet the same one many times. A
 * worker that accepted other jobs meanwhile is not frozen. So the caller names one of those, in turn; where there is
 * none, it names each worker once, the latest to accept first.
 */
export class RecentWorkers {
  /** By subject: when each worker last accepted, the latest last. */
  readonly #acceptedAtMs = new Map<string, Map<string, number>>()
  #turn = 0

  accepted(subject: string, worker: string, nowMs: number): void {
    let workers = this.#acceptedAtMs.get(subject)
    if (workers === undefined) this.#acceptedAtMs.set(subject, (workers = new Map()))
    workers.delete(worker)
    workers.set(worker, nowMs)
    if (workers.size > MOST_WORKERS) workers.delete(workers.keys().next().value!)
  }

  /** The worker is gone, or gives the subject's jobs back. */
  forget(subject: string, worker: string): void {
    this.#acceptedAtMs.get(subject)?.delete(worker)
  }

  /**
   * The worker to name in a job's next offer; undefined: leave it to the queue. `timeouts`: offers of the job that
   * nobody accepted. `sinceMs`: when the last of them was made.
   */
  choose(subject: string, timeouts: number, sinceMs: number): string | undefined {
    const workers = this.#acceptedAtMs.get(subject)
    if (workers === undefined || timeouts === 0) return undefined
    const latestFirst = [...workers].reverse()
    const awake = latestFirst.filter(([, acceptedAtMs]) => acceptedAtMs > sinceMs)
    if (awake.length > 0) return awake[this.#turn++ % awake.length]![0]
    return latestFirst[timeouts - 1]?.[0]
  }
}
