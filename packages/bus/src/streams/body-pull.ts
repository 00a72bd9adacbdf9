/**
 * The body of an incoming job: at hand when it came inline, else pulled from the caller when it is asked for.
 *
 * Only so many bodies are pulled at a time by this process; the others wait their turn, so that the bytes on their way
 * here stay bounded.
 */

import { frameKind } from '../core/frames.ts'
import { createBody, overduePulls, putPart, takePulls, type BodyAssembly } from '../core/body.ts'
import type { JobMessage } from '../core/job-message.ts'
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
  #result: PromiseWithResolvers<Uint8Array> | undefined
  #assembly: BodyAssembly | undefined
  #aborted: JobAborted | undefined

  constructor(job: JobMessage, peer: Peer, context: StreamContext, queue: BodyQueue) {
    this.#job = job
    this.#peer = peer
    this.#context = context
    this.#queue = queue
  }

  whole(): Promise<Uint8Array> {
    if (this.#job.inlineBody !== null) return Promise.resolve(this.#job.inlineBody)
    if (this.#result !== undefined) return this.#result.promise
    this.#result = Promise.withResolvers<Uint8Array>()
    this.#result.promise.catch(() => {})
    if (this.#aborted !== undefined) this.#result.reject(this.#aborted)
    else if (this.#queue.active < this.#context.tuning.bodiesAtOnce) this.#start()
    else this.#queue.waiting.push(this)
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
    if (this.#assembly.missing > 0) return this.#pull(takePulls(this.#assembly, nowMs))
    this.#result?.resolve(this.#assembly.bytes)
    this.#finish()
  }

  /** Once per heartbeat: asks again for parts that stay away. */
  beat(): void {
    if (this.#assembly !== undefined) this.#pull(overduePulls(this.#assembly, this.#context.now()))
  }

  /** After an outage: asks again for everything under way. */
  again(): void {
    if (this.#assembly !== undefined) this.#pull([...this.#assembly.asked])
  }

  /** The job is over; nobody needs the body any more. */
  abandon(aborted: JobAborted): void {
    this.#aborted = aborted
    this.#result?.reject(aborted)
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
