/**
 * The body of an incoming job that did not come inline: pulled from the caller.
 *
 * This process pulls a bounded number of bodies at a time, and the others wait. So the bytes on their way here stay
 * bounded.
 */

import { frameKind, type JobMessage } from '../core/messages.ts'
import { createBody, isComplete, overduePulls, putPart, takePulls, type BodyAssembly } from '../core/body.ts'
import type { JobAborted } from '../port.ts'
import type { StreamContext } from './context.ts'
import type { Peer } from './peers.ts'

/** The bodies of this process that are being pulled, and those that wait for their turn. */
export interface BodyQueue {
  active: number
  readonly waiting: BodyPull[]
}

export class BodyPull {
  readonly #job: JobMessage
  readonly #peer: Peer
  readonly #context: StreamContext
  readonly #queue: BodyQueue
  readonly #result = Promise.withResolvers<Uint8Array>()
  #assembly: BodyAssembly | undefined

  constructor(job: JobMessage, peer: Peer, context: StreamContext, queue: BodyQueue) {
    this.#job = job
    this.#peer = peer
    this.#context = context
    this.#queue = queue
    this.#result.promise.catch(() => {})
    if (queue.active < context.tuning.bodiesAtOnce) this.#start()
    else queue.waiting.push(this)
  }

  get complete(): Promise<Uint8Array> {
    return this.#result.promise
  }

  #start(): void {
    const { tuning, now } = this.#context
    this.#queue.active++
    this.#assembly = createBody(this.#job.bodyBytes, this.#job.partBytes, tuning.bodyPartsInFlight, tuning.bodyRetryMs)
    this.#pull(takePulls(this.#assembly, now()))
  }

  #pull(parts: number[]): void {
    for (const part of parts) this.#peer.send(frameKind.pull, this.#job.stream, part)
  }

  part(n: number, bytes: Uint8Array): void {
    if (this.#assembly === undefined) return
    const nowMs = this.#context.now()
    putPart(this.#assembly, n, bytes, nowMs)
    if (!isComplete(this.#assembly)) return this.#pull(takePulls(this.#assembly, nowMs))
    this.#result.resolve(this.#assembly.bytes)
    this.#finish()
  }

  /** Once per heartbeat: requests parts again that stay away. */
  beat(): void {
    if (this.#assembly !== undefined) this.#pull(overduePulls(this.#assembly, this.#context.now()))
  }

  /** After an outage: requests everything under way again. */
  again(): void {
    if (this.#assembly !== undefined) this.#pull([...this.#assembly.requested])
  }

  /** The job is over; nobody needs the body any more. */
  abandon(aborted: JobAborted): void {
    this.#result.reject(aborted)
    const index = this.#queue.waiting.indexOf(this)
    if (index >= 0) this.#queue.waiting.splice(index, 1)
    if (this.#assembly !== undefined) this.#finish()
  }

  #finish(): void {
    this.#assembly = undefined
    this.#queue.active--
    const next = this.#queue.waiting.shift()
    if (next !== undefined) next.#start()
  }
}
