/**
 * The side of job streams that dispatches jobs and reads their responses: it gives each response's frames to its
 * stream.
 *
 * The caller sends `stop` for a frame of another worker than the one that took the job, and of a stream that is over.
 * So an abandoned attempt cannot go on unnoticed.
 */

import { frameKind, WANTS_LAST_WORD, type FrameKind } from '../core/messages.ts'
import { InFlightMap, type Entry } from '@gateway/in-flight/collections'
import type { Inbox } from '../inbox.ts'
import type { JobEvents, JobHandle, OutgoingJob } from '../port.ts'
import type { StreamContext } from './context.ts'
import type { FrameHandler, Peer, PeerStream } from './peers.ts'
import { partOf } from '../core/body.ts'
import {
  announced,
  consume,
  consumeAll,
  createReceiver,
  receive,
  takeAck,
  type Receiver,
} from '../core/flow-control.ts'
import { Offer, RecentWorkers, type OfferContext } from './offer.ts'

export interface Caller {
  dispatch(job: OutgoingJob, events: JobEvents): JobHandle
  readonly onFrame: FrameHandler
  close(): void
}

export function openCaller(context: StreamContext, inbox: Inbox): Caller {
  const { wire, counters, now } = context
  const streams = new InFlightMap<number, CallerStream>()
  const own: CallerContext = { ...context, inbox, streams, workers: new RecentWorkers() }
  let lastStream = 0

  inbox.on('j', (_payload, token, noResponder) => {
    if (noResponder) streams.get(Number(token))?.noResponder()
  })
  wire.onConnection((connected) => {
    if (connected) for (const stream of streams.values()) stream.connected()
  })

  return {
    dispatch(job, events) {
      counters.jobsDispatched++
      lastStream = (lastStream + 1) >>> 0
      return new CallerStream(lastStream, job, events, own)
    },

    onFrame(peer, kind, number, n, bytes) {
      const stream = streams.get(number)
      if (stream === undefined) {
        if (kind !== frameKind.reject && kind !== frameKind.unknown) peer.sendStop(number)
        return
      }
      try {
        stream.onFrame(peer, kind, n, bytes, now())
      } catch (error) {
        context.onStatus({ type: 'error', error, during: 'handling a response' })
        stream.notAccepted()
      }
    },

    close() {
      for (const stream of [...streams.values()]) stream.abandon()
    },
  }
}

/** All streams of one caller share it. */
interface CallerContext extends OfferContext {
  readonly streams: InFlightMap<number, CallerStream>
}

/** Offered until a worker's first frame; taken; ended while the service takes in the last frame; over. */
type Stage = 'offered' | 'taken' | 'ended' | 'over'

/**
 * One dispatched job: its offer, then the response of the worker that took it.
 *
 * A reader that leaves changes nothing of that order: the caller requests the worker's last frame and waits for it. The
 * caller acknowledges the last frame when the service has taken it in. Until then the worker keeps the frame.
 */
class CallerStream implements JobHandle, PeerStream {
  readonly #number: number
  readonly #job: OutgoingJob
  readonly #events: JobEvents
  readonly #context: CallerContext
  readonly #partBytes: number
  readonly #offer: Offer
  readonly #receiver: Receiver
  #stage: Stage = 'offered'
  /** The reader has left, and the worker's last frame is all that is wanted. */
  #left = false
  /** The worker that took the job. */
  #peer: Peer | undefined
  #atPeer: Entry | undefined
  #pieces: Uint8Array[] = []

  constructor(number: number, job: OutgoingJob, events: JobEvents, context: CallerContext) {
    const { tuning, wire, counters, streams } = context
    this.#number = number
    this.#job = job
    this.#events = events
    this.#context = context
    this.#partBytes = Math.min(tuning.frameBytes, wire.maxPayloadBytes >> 1)
    this.#receiver = createReceiver(tuning.ackEveryBytes, tuning.resumeRetryMs)
    this.#offer = new Offer(number, job, this.#partBytes, context, (...why) => this.#unavailable(...why))
    streams.set(number, this)
    counters.streamsOpen++
    this.#offer.make()
  }

  connected(): void {
    if (this.#stage === 'offered') this.#offer.connected()
  }

  noResponder(): void {
    if (this.#stage === 'offered') this.#offer.noResponder()
  }

  onFrame(peer: Peer, kind: FrameKind, n: number, bytes: Uint8Array, nowMs: number): void {
    if (kind === frameKind.reject) {
      if (this.#peer !== undefined) return
      this.#context.workers.forget(this.#job.subject, peer.id)
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
    this.#offer.accepted(peer.id)
    this.#stage = 'taken'
    this.#peer = peer
    this.#atPeer = peer.join(this)
    if (this.#left) this.#requestLastFrame(peer)
  }

  #resume(peer: Peer): void {
    this.#context.counters.resumesRequested++
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
        return this.#events.onHead(this.#complete(bytes))
      case frameKind.end:
        this.#stage = 'ended'
        return this.#takenIn(peer, n, this.#events.onEnd(this.#complete(bytes)))
      case frameKind.failure:
        this.#stage = 'ended'
        return this.#takenIn(peer, n, this.#events.onFailure(this.#complete(bytes)))
    }
  }

  /** The payload that began in earlier pieces. */
  #complete(last: Uint8Array): Uint8Array {
    if (this.#pieces.length === 0) return last
    const complete = Buffer.concat([...this.#pieces, last])
    this.#pieces = []
    return complete
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
    if (this.#stage === 'taken') this.#requestLastFrame(this.#peer!)
    else if (this.#stage === 'offered') this.#offer.readerLeft()
  }

  #requestLastFrame(peer: Peer): void {
    consumeAll(this.#receiver)
    peer.send(frameKind.stop, this.#number, WANTS_LAST_WORD)
    peer.send(frameKind.ack, this.#number, takeAck(this.#receiver))
  }

  stop(): void {
    if (this.#stage === 'ended' || this.#stage === 'over') return
    this.#peer?.sendStop(this.#number)
    this.#close()
  }

  /** The service threw at a frame. Its job still gets an end: the bus reports the worker as lost. */
  notAccepted(): void {
    if (this.#stage === 'over') return
    this.#peer?.sendStop(this.#number)
    this.#stage = 'taken'
    this.lost()
  }

  /** This process is closing. A worker whose last frame is not taken in is to see that its caller is lost. */
  abandon(): void {
    if (this.#stage !== 'ended') this.#peer?.sendStop(this.#number)
    this.lost()
  }

  beat(): void {
    if (this.#stage !== 'taken') return
    if (this.#left) this.#requestLastFrame(this.#peer!)
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
    if (this.#peer !== undefined) this.#context.workers.forget(this.#job.subject, this.#peer.id)
    this.#events.onLost()
  }

  #unavailable(...why: Parameters<JobEvents['onUnavailable']>): void {
    if (this.#stage === 'over') return
    this.#context.counters.jobsUnavailable++
    this.#close()
    this.#events.onUnavailable(...why)
  }

  #close(): void {
    this.#stage = 'over'
    this.#offer.close()
    this.#context.streams.delete(this.#number)
    this.#atPeer?.leave()
    this.#context.counters.streamsOpen--
  }
}
