/**
 * All processes that this one shares streams with: takes their messages, sends heartbeats, notices who is gone.
 *
 * For every stream with that peer, a heartbeat carries the last number sent or consumed. So a lost tail is noticed,
 * and a forgotten stream reported. Any message of a peer is a sign of life. Our own heartbeat, sent to ourselves,
 * shows that messages arrive at all. While no stream is open, nobody is judged, and the process wakes for that alone.
 */

import { connectionChanged, sawOurselves, isLost, tick } from '../core/liveness.ts'
import {
  decodeFrames,
  frameKind,
  NO_BYTES,
  senderOf,
  type FrameKind,
  encodeMessages,
  FRAME_OVERHEAD,
  type Frame,
  mayWaitMs,
} from '../core/messages.ts'
import { type Inbox, framesSubject } from '../inbox.ts'
import type { StreamContext } from './context.ts'
import { countSent, createSendWindow, echo, hasOpenWindow, takeMark, type SendWindow } from '../core/flow-control.ts'
import { InFlightList, type Entry } from '@gateway/in-flight/collections'
import { atTurnsEnd } from '../event-loop.ts'

/** Takes the frames that are meant for one side of the streams: `caller` or `worker`. */
export type FrameHandler = (peer: Peer, kind: FrameKind, stream: number, n: number, bytes: Uint8Array) => void

interface FrameHandlers {
  caller: FrameHandler
  worker: FrameHandler
}

export interface Peers {
  readFrames(handlers: FrameHandlers): void
  get(id: string): Peer
  /** Sends the waiting frames. */
  flush(): void
  close(): void
}

export function openPeers(context: StreamContext, inbox: Inbox): Peers {
  const { wire, tuning, counters, liveness, now, onStatus } = context
  const peers = new Map<string, Peer>()
  let beatAtMs = now()

  const get = (id: string): Peer => {
    let peer = peers.get(id)
    if (peer === undefined) peers.set(id, (peer = new Peer(id, context, wake)))
    return peer
  }

  const readFrames = ({ caller, worker }: FrameHandlers) => {
    const onFrame = (peer: Peer, kind: FrameKind, stream: number, n: number, bytes: Uint8Array) => {
      counters.framesReceived++
      if (kind === frameKind.mark) peer.send(frameKind.echo, 0, n)
      else if (kind === frameKind.echo) peer.echoed(n)
      else if (kind >= frameKind.ack) worker(peer, kind, stream, n, bytes)
      else caller(peer, kind, stream, n, bytes)
    }
    inbox.on('f', (message) => {
      counters.messagesReceived++
      try {
        const peer = get(senderOf(message))
        peer.lastSeenAtMs = now()
        decodeFrames(message, (kind, stream, n, bytes) => onFrame(peer, kind, stream, n, bytes))
      } catch (error) {
        counters.messagesMalformed++
        onStatus({ type: 'error', error, during: 'reading frames' })
      }
    })
  }

  wire.onConnection((connected) => {
    connectionChanged(liveness, connected, now())
    if (!connected) return
    counters.reconnects++
    for (const peer of peers.values()) {
      for (const stream of peer.streams) stream.reconnected()
      peer.beat()
    }
  })

  inbox.on('h', () => sawOurselves(liveness, now()))

  const beat = (nowMs: number) => {
    beatAtMs = nowMs
    wire.publish(inbox.address('h', 0), NO_BYTES)
    for (const peer of peers.values()) if (peer.streams.size > 0) peer.beat()
  }

  /** Returns whether a stream is open. */
  const judge = (nowMs: number): boolean => {
    let isBusy = false
    for (const peer of peers.values()) {
      if (peer.streams.size > 0) isBusy = true
      if (peer.streams.size > 0 && isLost(liveness, peer.lastSeenAtMs, nowMs)) {
        for (const stream of [...peer.streams]) stream.lost()
      }
      if (peer.streams.size === 0 && nowMs - peer.lastSeenAtMs > tuning.lostAfterMs) peers.delete(peer.id)
    }
    return isBusy
  }

  let pauseMs = tuning.tickMs
  let timer = setTimeout(round, pauseMs).unref()
  let isClosed = false

  function pause(ms: number): void {
    clearTimeout(timer)
    pauseMs = ms
    if (!isClosed) timer = setTimeout(round, ms).unref()
  }

  function noteTick(nowMs: number): void {
    const stoodStillMs = tick(liveness, nowMs, pauseMs)
    if (stoodStillMs === 0) return
    counters.pauses++
    onStatus({ type: 'pause', stoodStillMs })
  }

  function round(): void {
    const nowMs = now()
    noteTick(nowMs)
    if (nowMs - beatAtMs >= tuning.heartbeatMs - tuning.tickMs / 2) beat(nowMs)
    const isBusy = judge(nowMs)
    pause(isBusy ? tuning.tickMs : Math.max(tuning.tickMs, beatAtMs + tuning.heartbeatMs - nowMs))
  }

  /** A stream has opened. */
  function wake(): void {
    if (pauseMs === tuning.tickMs) return
    noteTick(now())
    pause(tuning.tickMs)
  }

  return {
    readFrames,
    get,
    flush: () => {
      for (const peer of peers.values()) peer.flush()
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

/** A stream with this peer, from either side. */
export interface PeerStream {
  /** Sends this stream's part of the heartbeat. */
  beat(): void
  /** Our own connection came back. */
  reconnected(): void
  /** The peer is gone. */
  lost(): void
}

/** A stream that waits until the send window is open. */
export interface Waiting {
  pump(): void
}

/**
 * One other process, as seen from here: its unsent frames, its bytes in flight, and the time of its last message.
 *
 * Frames of all streams to a peer leave together: at the end of the turn, or a little later where nobody waits for
 * them (`mayWaitMs`).
 */
export class Peer {
  readonly id: string
  readonly streams = new InFlightList<PeerStream>()
  lastSeenAtMs: number
  readonly #context: StreamContext
  readonly #sendWindow: SendWindow
  readonly #onStream: () => void
  #outgoing: Frame[] = []
  #outgoingBytes = 0
  #leavesThisTurn = false
  #laterFlush: NodeJS.Timeout | undefined
  #laterFlushAtMs = Infinity
  #lastMessageAtMs = -Infinity
  #stopped = new Set<number>()
  #waiting = new Set<Waiting>()

  constructor(id: string, context: StreamContext, onStream: () => void) {
    this.id = id
    this.#context = context
    this.#onStream = onStream
    this.#sendWindow = createSendWindow(context.tuning.peerWindowBytes, context.tuning.markEveryBytes)
    this.lastSeenAtMs = context.now()
  }

  get hasCapacity(): boolean {
    return hasOpenWindow(this.#sendWindow)
  }

  /** Opens a stream, which is judged until it leaves. */
  join(stream: PeerStream): Entry {
    const entry = this.streams.join(stream)
    this.#onStream()
    return entry
  }

  /** `stream.pump()` is called once the window is open. */
  waitForCapacity(stream: Waiting): void {
    this.#waiting.add(stream)
  }

  stopWaiting(stream: Waiting): void {
    this.#waiting.delete(stream)
  }

  send(kind: FrameKind, stream: number, n: number, bytes: Uint8Array = NO_BYTES): void {
    this.#add(kind, stream, n, bytes)
    if (this.#leavesThisTurn) return
    const { now, tuning } = this.#context
    const nowMs = now()
    const isFull = this.#outgoingBytes >= tuning.messageBytes
    this.#schedule(isFull ? 0 : mayWaitMs(kind, nowMs - this.#lastMessageAtMs, tuning), nowMs)
  }

  /** For a frame that leaves with the next message, whenever that is. */
  sendAtLeisure(kind: FrameKind, stream: number, n: number): void {
    this.#add(kind, stream, n, NO_BYTES)
    if (!this.#leavesThisTurn) this.#schedule(this.#context.tuning.leisureMs, this.#context.now())
  }

  #add(kind: FrameKind, stream: number, n: number, bytes: Uint8Array): void {
    this.#outgoing.push({ kind, stream, n, bytes })
    this.#outgoingBytes += FRAME_OVERHEAD + bytes.length
    if (countSent(this.#sendWindow, FRAME_OVERHEAD + bytes.length)) this.#mark()
  }

  #schedule(waitMs: number, nowMs: number): void {
    if (waitMs === 0) {
      this.#leavesThisTurn = true
      atTurnsEnd(() => this.flush())
    } else if (nowMs + waitMs < this.#laterFlushAtMs) {
      clearTimeout(this.#laterFlush)
      this.#laterFlushAtMs = nowMs + waitMs
      this.#laterFlush = setTimeout(() => this.flush(), waitMs)
    }
  }

  /** Sends `stop` for frames of a stream that this process has no use for, once per flush. */
  sendStop(stream: number): void {
    if (this.#stopped.has(stream)) return
    this.#stopped.add(stream)
    this.send(frameKind.stop, stream, 0)
  }

  echoed(n: number): void {
    const { now, measures } = this.#context
    const sentAtMs = echo(this.#sendWindow, n)
    if (sentAtMs !== null) measures.roundTrip(now() - sentAtMs)
    if (this.#waiting.size === 0 || !this.hasCapacity) return
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const stream of waiting) stream.pump()
  }

  beat(): void {
    for (const stream of this.streams) stream.beat()
    this.#mark()
  }

  #mark(): void {
    this.send(frameKind.mark, 0, takeMark(this.#sendWindow, this.#context.now()))
  }

  flush(): void {
    this.#leavesThisTurn = false
    clearTimeout(this.#laterFlush)
    this.#laterFlushAtMs = Infinity
    const frames = this.#outgoing
    if (frames.length === 0) return
    this.#outgoing = []
    this.#outgoingBytes = 0
    this.#stopped.clear()
    this.#lastMessageAtMs = this.#context.now()
    const { wire, counters, tuning, processId } = this.#context
    if (!wire.connected) return
    const subject = framesSubject(this.id)
    for (const message of encodeMessages(processId, frames, Math.min(tuning.messageBytes, wire.maxPayloadBytes))) {
      wire.publish(subject, message)
      counters.messagesSent++
    }
    counters.framesSent += frames.length
  }
}
