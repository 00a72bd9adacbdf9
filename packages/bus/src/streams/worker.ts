/**
 * The side of a job stream that does the work and produces the response.
 *
 * A stream lives until its caller has acknowledged the last frame, stopped it or is gone. Frames that are not
 * acknowledged are kept and sent again on request. A caller that has left still gets the last frame.
 */

import {
  decodeJob,
  decodeOffer,
  type JobMessage,
  frameKind,
  NO_BYTES,
  WANTS_LAST_WORD,
  type FrameKind,
} from '../core/messages.ts'
import {
  acknowledge,
  createSender,
  hasCapacity,
  pushControl,
  pushData,
  rewind,
  takeFrame,
  type Sender,
} from '../core/flow-control.ts'
import { type Entry, InFlightMap } from '@gateway/in-flight/collections'
import { JobAborted, type AbortCause, type IncomingJob, type JobOver } from '../port.ts'
import { endTurn } from '../event-loop.ts'
import { BodyPull, type BodyQueue } from './body-pull.ts'
import type { StreamContext } from './context.ts'
import type { Peer, PeerStream, Waiting, FrameHandler } from './peers.ts'

/** Creating an Error captures a stack, and each stream ends. */
const ENDED = new JobAborted('stopped')
const WORKER_FRAMES: ReadonlySet<FrameKind> = new Set([frameKind.ack, frameKind.resume])

export type JobHandler = (job: IncomingJob) => void

export interface Worker {
  /** Takes jobs of the group's queue, and those that callers offer to this worker by name, until disposed. */
  serveJobs(subject: string, group: string, handler: JobHandler): Promise<AsyncDisposable>
  readonly onFrame: FrameHandler
  close(): void
}

export function openWorker(shared: StreamContext, peerOf: (id: string) => Peer): Worker {
  const streams = new InFlightMap<string, WorkerStream>()
  const context: WorkerContext = { ...shared, streams, bodies: { active: 0, waiting: [] } }
  const handlers = new Map<string, JobHandler>()

  const onJob = (message: Uint8Array, handler: JobHandler) => {
    let stream: WorkerStream | undefined
    try {
      const job = decodeJob(message)
      const key = `${job.callerId}.${job.stream}`
      if (streams.has(key)) return
      const peer = peerOf(job.callerId)
      peer.lastSeenAtMs = context.now()
      stream = new WorkerStream(key, job, peer, context)
      handler(stream)
    } catch (error) {
      context.onStatus({ type: 'error', error, during: 'taking a job' })
      stream?.giveUp('the worker failed')
    }
  }

  const onOffer = (peer: Peer, number: number, bytes: Uint8Array) => {
    const { subject, job } = decodeOffer(bytes)
    const handler = handlers.get(subject)
    if (handler !== undefined) onJob(job, handler)
    else peer.send(frameKind.reject, number, 0, Buffer.from(`takes no jobs of ${subject}`))
  }

  return {
    async serveJobs(subject, group, handler) {
      const queue = await shared.wire.subscribe(subject, group, (message) => onJob(message, handler))
      handlers.set(subject, handler)
      return {
        async [Symbol.asyncDispose]() {
          handlers.delete(subject)
          await queue[Symbol.asyncDispose]()
        },
      }
    },

    onFrame(peer, kind, number, n, bytes) {
      if (kind === frameKind.offer) return onOffer(peer, number, bytes)
      const stream = streams.get(`${peer.id}.${number}`)
      if (stream !== undefined) stream.onFrame(kind, n, bytes)
      else if (WORKER_FRAMES.has(kind)) peer.send(frameKind.unknown, number, 0)
    },

    close() {
      for (const stream of [...streams.values()]) stream.giveUp('the worker is closing')
    },
  }
}

/** All streams of one worker share it. */
interface WorkerContext extends StreamContext {
  readonly streams: InFlightMap<string, WorkerStream>
  readonly bodies: BodyQueue
}

class WorkerStream implements IncomingJob, PeerStream, Waiting {
  readonly header: Uint8Array
  readonly callerId: string
  readonly bodyBytes: number
  readonly #key: string
  readonly #number: number
  readonly #peer: Peer
  readonly #atPeer: Entry
  readonly #context: WorkerContext
  readonly #sender: Sender
  readonly #job: JobMessage
  /** Where the body did not come with the job. */
  #body: BodyPull | undefined
  #aborted: JobAborted | null = null
  #onAbort: ((aborted: JobAborted) => void) | undefined
  /** Created at the first use of the signal: most jobs end without one. */
  #controller: AbortController | undefined
  #accepted = false
  #ended = false
  #over = false
  #capacity: PromiseWithResolvers<void> | undefined
  #onOver: ((how: JobOver) => void) | undefined

  constructor(key: string, job: JobMessage, peer: Peer, context: WorkerContext) {
    const { tuning, wire, counters } = context
    this.header = job.header
    this.callerId = job.callerId
    this.bodyBytes = job.bodyBytes
    this.#key = key
    this.#number = job.stream
    this.#peer = peer
    this.#context = context
    this.#sender = createSender(tuning.streamWindowBytes, Math.min(tuning.frameBytes, wire.maxPayloadBytes >> 1))
    this.#job = job
    context.streams.set(key, this)
    this.#atPeer = peer.join(this)
    counters.streamsOpen++
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== null) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  get aborted(): JobAborted | null {
    return this.#aborted
  }

  onAbort(listener: (aborted: JobAborted) => void): void {
    this.#onAbort = listener
  }

  onOver(listener: (how: JobOver) => void): void {
    this.#onOver = listener
  }

  body(): Promise<Uint8Array> {
    if (this.#job.inlineBody !== null) return Promise.resolve(this.#job.inlineBody)
    if (this.#body === undefined) {
      if (this.#over || this.#aborted !== null) return this.#rejected()
      this.#body = new BodyPull(this.#job, this.#peer, this.#context, this.#context.bodies)
    }
    return this.#body.complete
  }

  accept(atOnce = false): void {
    if (this.#accepted || this.#over) return
    this.#accepted = true
    pushControl(this.#sender, frameKind.accept, NO_BYTES)
    this.pump()
    if (!atOnce) return
    this.#peer.flush()
    endTurn()
  }

  reject(detail: string): void {
    if (this.#accepted || this.#over) return
    this.#peer.send(frameKind.reject, this.#number, 0, Buffer.from(detail))
    this.#close('acknowledged')
  }

  head(head: Uint8Array): void {
    if (this.#aborted === null) this.#control(frameKind.head, head)
  }

  data(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#over || this.#aborted !== null) return this.#rejected()
    if (this.#ended) return Promise.reject(new Error('data after the last frame of a job'))
    this.accept()
    pushData(this.#sender, bytes)
    this.pump()
    if (hasCapacity(this.#sender)) return undefined
    this.#capacity ??= Promise.withResolvers<void>()
    return this.#capacity.promise
  }

  end(end: Uint8Array): void {
    this.#control(frameKind.end, end)
  }

  failure(failure: Uint8Array): void {
    this.#control(frameKind.failure, failure)
  }

  #control(kind: FrameKind, payload: Uint8Array): void {
    if (this.#over || this.#ended) return
    this.accept()
    pushControl(this.#sender, kind, payload)
    this.#ended = kind !== frameKind.head
    this.pump()
  }

  /** Sends as much as the windows allow. Frames that are produced while disconnected wait for the connection. */
  pump(): void {
    if (this.#over || !this.#context.wire.connected) return
    while (true) {
      if (!this.#peer.hasCapacity) return this.#peer.waitForCapacity(this)
      const sentBefore = this.#sender.highest
      const frame = takeFrame(this.#sender)
      if (frame === undefined) return
      if (frame.n <= sentBefore) this.#context.counters.framesResent++
      this.#peer.send(frame.kind, this.#number, frame.n, frame.bytes)
    }
  }

  onFrame(kind: FrameKind, n: number, bytes: Uint8Array): void {
    switch (kind) {
      case frameKind.ack:
        return this.#acknowledged(n)
      case frameKind.resume:
        rewind(this.#sender, n)
        return this.pump()
      case frameKind.stop:
        return n === WANTS_LAST_WORD ? this.#callerLeft() : this.#close('stopped')
      case frameKind.part:
        return this.#body?.part(n, bytes)
    }
  }

  #acknowledged(n: number): void {
    acknowledge(this.#sender, n)
    if (this.#ended && this.#sender.frames.length === 0) return this.#close('acknowledged')
    this.pump()
    if (this.#capacity !== undefined && hasCapacity(this.#sender)) {
      this.#capacity.resolve()
      this.#capacity = undefined
    }
  }

  beat(): void {
    if (this.#accepted) this.#peer.send(frameKind.sent, this.#number, this.#sender.highest)
    this.#body?.beat()
  }

  reconnected(): void {
    this.#body?.again()
    this.pump()
  }

  lost(): void {
    this.#close('caller_lost')
  }

  /**
   * Gives the job back, or, once accepted, informs the caller that the response will not come: it sees a lost worker.
   */
  giveUp(detail: string): void {
    if (this.#over) return
    if (!this.#accepted) return this.reject(detail)
    this.#peer.send(frameKind.unknown, this.#number, 0)
    this.#close('stopped')
  }

  #rejected(): Promise<never> {
    const rejected = Promise.reject(this.#aborted ?? new JobAborted('stopped'))
    rejected.catch(() => {})
    return rejected
  }

  /** The signal stops the service; the service may still send its last frame. */
  #callerLeft(): void {
    if (!this.#over && !this.#ended && this.#aborted === null) this.#abort('stopped')
  }

  #abort(cause: AbortCause): void {
    const aborted = new JobAborted(cause)
    this.#giveBack(aborted)
    if (this.#aborted !== null) return
    this.#aborted = aborted
    this.#onAbort?.(aborted)
    this.#controller?.abort(aborted)
  }

  /** The service needs neither the body nor an open window. */
  #giveBack(aborted: JobAborted): void {
    this.#body?.abandon(aborted)
    if (this.#capacity === undefined) return
    this.#capacity.promise.catch(() => {})
    this.#capacity.reject(aborted)
    this.#capacity = undefined
  }

  #close(how: JobOver): void {
    if (this.#over) return
    this.#over = true
    this.#context.streams.delete(this.#key)
    this.#atPeer.leave()
    this.#peer.stopWaiting(this)
    this.#context.counters.streamsOpen--
    if (how === 'acknowledged' || this.#ended) this.#giveBack(ENDED)
    else this.#abort(how)
    this.#onOver?.(how)
  }
}
