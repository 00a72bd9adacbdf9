/**
 * The side of a job stream that dispatched the job and reads the answer.
 *
 * The caller answers a frame of another worker than the one that took the job, and of a stream that is over, with `stop`:
 * an abandoned attempt cannot go on unnoticed.
 *
 * A reader that leaves changes nothing of that order: the caller asks the worker for its last frame and waits for it. The
 * caller acknowledges the last frame when the service has taken it in. Until then the worker keeps the frame.
 */

import { AcceptPatience } from '../core/accept-patience.ts'
import { encodeJob, encodeOffer, jobOverhead } from '../core/job-message.ts'
import { encodeMessages, frameKind, WANTS_LAST_WORD, type FrameKind } from '../core/frames.ts'
import { isRecovering } from '../core/liveness.ts'
import { partOf } from '../core/body.ts'
import { RecentWorkers } from '../core/recent-workers.ts'
import { announced, consume, consumeAll, createReceiver, receive, takeAck, type Receiver } from '../core/receiver.ts'
import { InFlightMap } from '@gateway/in-flight/map'
import type { Entry } from '@gateway/in-flight/list'
import { framesSubject, type Inbox } from '../inbox.ts'
import { LivedTimeout } from '../lived-timeout.ts'
import type { JobEvents, JobHandle, OutgoingJob } from '../port.ts'
import type { StreamContext } from './context.ts'
import type { Peer, PeerStream } from './peer.ts'
import type { FrameHandler } from './peers.ts'

const SETTLING_RETRY_MS = 50

export interface Caller {
  dispatch(job: OutgoingJob, events: JobEvents): JobHandle
  readonly onFrame: FrameHandler
  close(): void
}

type Unavailable = Parameters<JobEvents['onUnavailable']>

export function openCaller(context: StreamContext, inbox: Inbox): Caller {
  const { wire, counters, now } = context
  const streams = new InFlightMap<number, CallerStream>()
  const patience = new AcceptPatience(context.tuning.acceptTimeoutMs, context.tuning.acceptTimeoutMostMs)
  const workers = new RecentWorkers()
  let lastStream = 0

  inbox.on('j', (_payload, token, noResponder) => {
    if (noResponder) streams.get(Number(token))?.noResponder()
  })
  wire.onConnection((connected) => {
    if (connected) for (const stream of streams.values()) stream.offerHeld()
  })

  return {
    dispatch(job, events) {
      counters.jobsDispatched++
      lastStream = (lastStream + 1) >>> 0
      const stream = new CallerStream(lastStream, job, events, context, inbox, streams, patience, workers)
      stream.offer()
      return stream
    },

    onFrame(peer, kind, number, n, bytes) {
      const stream = streams.get(number)
      if (stream === undefined) {
        if (kind === frameKind.accept) patience.acceptedLate(number, now())
        if (kind !== frameKind.reject && kind !== frameKind.unknown) peer.sendStop(number)
        return
      }
      try {
        stream.onFrame(peer, kind, n, bytes, now())
      } catch (error) {
        context.onStatus({ type: 'error', error, during: 'handling an answer' })
        stream.notTaken()
      }
    },

    close() {
      for (const stream of [...streams.values()]) stream.abandon()
    },
  }
}

/**
 * Held while there is no connection, or offered; taken from a worker's first frame on; ended while the service takes in
 * the last frame; over.
 */
type Stage = 'held' | 'offered' | 'taken' | 'ended' | 'over'

class CallerStream implements JobHandle, PeerStream {
  readonly #number: number
  readonly #job: OutgoingJob
  readonly #events: JobEvents
  readonly #context: StreamContext
  readonly #inbox: Inbox
  readonly #open: InFlightMap<number, CallerStream>
  readonly #receiver: Receiver
  readonly #partBytes: number
  readonly #patience: AcceptPatience
  readonly #workers: RecentWorkers
  #stage: Stage = 'offered'
  /** The reader has left, and the worker's last frame is all that is wanted. */
  #left = false
  #offeredAtMs = 0
  /** The worker that took the job. */
  #peer: Peer | undefined
  #atPeer: Entry | undefined
  #waitedMs = 0
  #timer: LivedTimeout | undefined
  #pieces: Uint8Array[] = []

  constructor(
    number: number,
    job: OutgoingJob,
    events: JobEvents,
    context: StreamContext,
    inbox: Inbox,
    open: InFlightMap<number, CallerStream>,
    patience: AcceptPatience,
    workers: RecentWorkers,
  ) {
    this.#number = number
    this.#job = job
    this.#events = events
    this.#context = context
    this.#inbox = inbox
    this.#open = open
    this.#patience = patience
    this.#workers = workers
    this.#receiver = createReceiver(context.tuning.ackEveryBytes, context.tuning.resumeRetryMs)
    this.#partBytes = Math.min(context.tuning.frameBytes, context.wire.maxPayloadBytes >> 1)
    open.set(number, this)
    context.counters.streamsOpen++
  }

  get #acceptTimeoutMs(): number {
    return this.#job.acceptTimeoutMs ?? this.#context.tuning.acceptTimeoutMs
  }

  /** Publishes the job, or holds it until the connection is back. */
  offer(): void {
    const { wire, tuning, processId, now } = this.#context
    const { header, body, subject } = this.#job
    const overhead = jobOverhead(processId, header)
    if (overhead > wire.maxPayloadBytes) {
      queueMicrotask(() => this.#unavailable('rejected', `a job header of ${header.length} bytes is too large`))
      return
    }
    this.#stage = wire.connected ? 'offered' : 'held'
    this.#offeredAtMs = now()
    this.#waitedMs = 0
    if (this.#stage === 'held') return this.#waitForAccept(this.#acceptTimeoutMs + tuning.graceMs)
    this.#waitForAccept(this.#patience.waitMs(this.#acceptTimeoutMs))
    const inline = body.length <= tuning.inlineBytes && overhead + body.length <= wire.maxPayloadBytes
    const message = encodeJob({
      callerId: processId,
      stream: this.#number,
      header,
      body,
      inline,
      partBytes: this.#partBytes,
    })
    if (!this.#offerByName(message)) wire.publish(subject, message, this.#inbox.address('j', this.#number))
  }

  /** False where the queue is to pick the worker. */
  #offerByName(job: Uint8Array): boolean {
    const { wire, tuning, processId } = this.#context
    const { subject, timeouts = 0 } = this.#job
    // Each earlier offer waited for so long at least: a worker that accepted since is awake.
    const worker = this.#workers.choose(subject, timeouts, this.#offeredAtMs - tuning.acceptTimeoutMs)
    if (worker === undefined) return false
    const frame = { kind: frameKind.offer, stream: this.#number, n: 0, bytes: encodeOffer(subject, job) }
    const [message] = encodeMessages(processId, [frame], wire.maxPayloadBytes)
    if (message!.length > wire.maxPayloadBytes) return false
    wire.publish(framesSubject(worker), message!)
    return true
  }

  offerHeld(): void {
    if (this.#stage !== 'held') return
    if (this.#left) this.#unavailable('timeout')
    else this.offer()
  }

  #waitForAccept(timeoutMs: number): void {
    this.#timer?.clear()
    this.#timer = new LivedTimeout(() => this.#notAccepted(timeoutMs), timeoutMs)
  }

  #notAccepted(timeoutMs: number): void {
    this.#waitedMs += timeoutMs
    const isPatient = this.#stage === 'offered' && !this.#left
    const leftMs = isPatient ? this.#patience.waitMs(this.#acceptTimeoutMs) - this.#waitedMs : 0
    if (leftMs > 0) return this.#waitForAccept(leftMs)
    this.#patience.gaveUp(this.#number, this.#offeredAtMs)
    this.#unavailable('timeout')
  }

  /** Nobody serves the subject; after an outage that we shared, somebody may be about to again. */
  noResponder(): void {
    if (this.#stage !== 'offered') return
    const { liveness, now } = this.#context
    if (this.#left || !isRecovering(liveness, now())) return this.#unavailable('no_responder')
    this.#timer?.clear()
    this.#timer = new LivedTimeout(() => this.offer(), SETTLING_RETRY_MS)
  }

  onFrame(peer: Peer, kind: FrameKind, n: number, bytes: Uint8Array, nowMs: number): void {
    if (kind === frameKind.reject) {
      if (this.#peer !== undefined) return
      this.#workers.forget(this.#job.subject, peer.id)
      return this.#unavailable('rejected', Buffer.from(bytes).toString())
    }
    if (kind === frameKind.unknown) {
      if (this.#peer === peer) this.lost()
      return
    }
    if (this.#peer === undefined) this.#adopt(peer)
    else if (this.#peer !== peer) return peer.sendStop(this.#number)

    if (kind === frameKind.pull) return this.#sendPart(peer, n)
    if (kind === frameKind.sent) {
      if (announced(this.#receiver, n, nowMs)) this.#resume(peer)
      return
    }
    const verdict = receive(this.#receiver, n, kind === frameKind.data ? bytes.length : 0, nowMs)
    if (verdict === 'deliver') return this.#deliver(peer, kind, n, bytes)
    this.#context.counters.framesDropped++
    if (verdict === 'resume') this.#resume(peer)
  }

  #adopt(peer: Peer): void {
    this.#timer?.clear()
    const nowMs = this.#context.now()
    this.#patience.accepted(nowMs - this.#offeredAtMs)
    this.#workers.accepted(this.#job.subject, peer.id, nowMs)
    this.#stage = 'taken'
    this.#peer = peer
    this.#atPeer = peer.streams.join(this)
    if (this.#left) this.#askForLastWord(peer)
  }

  #resume(peer: Peer): void {
    this.#context.counters.resumesAsked++
    peer.send(frameKind.resume, this.#number, this.#receiver.expected)
  }

  #sendPart(peer: Peer, n: number): void {
    const part = partOf(this.#job.body, this.#partBytes, n)
    if (part !== null) peer.send(frameKind.part, this.#number, n, part)
  }

  #deliver(peer: Peer, kind: FrameKind, n: number, bytes: Uint8Array): void {
    switch (kind) {
      case frameKind.accept:
        return this.#events.onAccept?.(peer.id)
      case frameKind.data:
        if (this.#left) this.#consume(peer, bytes.length)
        return this.#events.onData(bytes)
      case frameKind.piece:
        return void this.#pieces.push(bytes)
      case frameKind.head:
        return this.#events.onHead(this.#whole(bytes))
      case frameKind.end:
        this.#stage = 'ended'
        return this.#takenIn(peer, n, this.#events.onEnd(this.#whole(bytes)))
      case frameKind.failure:
        this.#stage = 'ended'
        return this.#takenIn(peer, n, this.#events.onFailure(this.#whole(bytes)))
    }
  }

  /** The payload that began in earlier pieces. */
  #whole(last: Uint8Array): Uint8Array {
    if (this.#pieces.length === 0) return last
    const whole = Buffer.concat([...this.#pieces, last])
    this.#pieces = []
    return whole
  }

  /** The service has the last frame. Once it has taken that in, one last acknowledgement ends the worker's stream. */
  #takenIn(peer: Peer, n: number, taking: void | Promise<void>): void {
    const acknowledge = () => {
      if (this.#stage === 'over') return
      peer.sendAtLeisure(frameKind.ack, this.#number, n)
      this.#close()
    }
    if (taking === undefined) acknowledge()
    else taking.then(acknowledge, acknowledge)
  }

  consumed(bytes: number): void {
    if (this.#stage === 'taken' && !this.#left) this.#consume(this.#peer!, bytes)
  }

  #consume(peer: Peer, bytes: number): void {
    if (consume(this.#receiver, bytes)) peer.send(frameKind.ack, this.#number, takeAck(this.#receiver))
  }

  leave(): void {
    if (this.#left) return
    this.#left = true
    if (this.#stage === 'taken') this.#askForLastWord(this.#peer!)
    // No reader waits any more, so a worker that has taken the job gets all the time in which it counts as alive.
    else if (this.#stage === 'offered') this.#waitForAccept(this.#context.tuning.lostAfterMs)
  }

  #askForLastWord(peer: Peer): void {
    consumeAll(this.#receiver)
    peer.send(frameKind.stop, this.#number, WANTS_LAST_WORD)
    peer.send(frameKind.ack, this.#number, takeAck(this.#receiver))
  }

  stop(): void {
    if (this.#stage === 'ended' || this.#stage === 'over') return
    this.#peer?.sendStop(this.#number)
    this.#close()
  }

  /** The service threw at a frame. Its job still gets an end: the bus tells it that the worker is lost. */
  notTaken(): void {
    if (this.#stage === 'over') return
    this.#peer?.sendStop(this.#number)
    this.#stage = 'taken'
    this.lost()
  }

  /** This process is closing. */
  abandon(): void {
    this.#peer?.sendStop(this.#number)
    this.lost()
  }

  beat(): void {
    if (this.#stage !== 'taken') return
    if (this.#left) this.#askForLastWord(this.#peer!)
    else this.#peer!.send(frameKind.ack, this.#number, takeAck(this.#receiver))
  }

  reconnected(): void {
    if (this.#stage === 'taken') this.#resume(this.#peer!)
  }

  lost(): void {
    const stage = this.#stage
    if (stage === 'over') return
    this.#close()
    // The service has the last frame already.
    if (stage === 'ended') return
    this.#context.counters.jobsLost++
    if (this.#peer !== undefined) this.#workers.forget(this.#job.subject, this.#peer.id)
    this.#events.onLost()
  }

  #unavailable(...[reason, detail]: Unavailable): void {
    if (this.#stage === 'over') return
    this.#context.counters.jobsUnavailable++
    this.#close()
    this.#events.onUnavailable(reason, detail)
  }

  #close(): void {
    this.#stage = 'over'
    this.#timer?.clear()
    this.#open.delete(this.#number)
    this.#atPeer?.leave()
    this.#context.counters.streamsOpen--
  }
}
