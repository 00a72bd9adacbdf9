/**
 * All processes that this one shares streams with: takes their messages, sends heartbeats, notices who is gone.
 *
 * A heartbeat carries, for every stream with that peer, what was sent or consumed last, so that a lost tail is noticed
 * and a forgotten stream is told. Any message of a peer is a sign of life. Our own heartbeat, sent to ourselves, tells
 * whether anybody can be heard at all.
 */

import { connectionChanged, heardOurselves, isLost, tick } from '../core/liveness.ts'
import { decodeFrames, frameKind, NO_BYTES, senderOf, type FrameKind } from '../core/frames.ts'
import type { Inbox } from '../inbox.ts'
import type { StreamContext } from './context.ts'
import { Peer } from './peer.ts'

/** Takes the frames that are meant for one side of the streams: `caller` or `worker`. */
export type FrameHandler = (peer: Peer, kind: FrameKind, stream: number, n: number, bytes: Uint8Array) => void

export interface Peers {
  get(id: string): Peer
  /** Sends what is waiting to be sent. */
  flush(): void
  close(): void
}

export function openPeers(
  context: StreamContext,
  inbox: Inbox,
  handlers: { caller: FrameHandler; worker: FrameHandler },
): Peers {
  const { wire, tuning, counters, liveness, now, onStatus } = context
  const peers = new Map<string, Peer>()
  let beatAtMs = now()

  const get = (id: string): Peer => {
    let peer = peers.get(id)
    if (peer === undefined) peers.set(id, (peer = new Peer(id, context)))
    return peer
  }

  const onFrame = (peer: Peer, kind: FrameKind, stream: number, n: number, bytes: Uint8Array) => {
    counters.framesReceived++
    if (kind === frameKind.mark) peer.send(frameKind.echo, 0, n)
    else if (kind === frameKind.echo) peer.echoed(n)
    else if (kind >= frameKind.ack) handlers.worker(peer, kind, stream, n, bytes)
    else handlers.caller(peer, kind, stream, n, bytes)
  }

  inbox.on('f', (message) => {
    counters.messagesReceived++
    try {
      const peer = get(senderOf(message))
      peer.lastHeardAtMs = now()
      decodeFrames(message, (kind, stream, n, bytes) => onFrame(peer, kind, stream, n, bytes))
    } catch (error) {
      counters.messagesMalformed++
      onStatus({ type: 'error', error, during: 'reading frames' })
    }
  })

  wire.onConnection((connected) => {
    connectionChanged(liveness, connected, now())
    if (!connected) return
    counters.reconnects++
    for (const peer of peers.values()) {
      for (const stream of peer.streams) stream.reconnected()
      peer.beat()
    }
  })

  inbox.on('h', () => heardOurselves(liveness, now()))

  const beat = (nowMs: number) => {
    beatAtMs = nowMs
    wire.publish(inbox.address('h', 0), NO_BYTES)
    for (const peer of peers.values()) if (peer.streams.size > 0) peer.beat()
  }

  const judge = (nowMs: number) => {
    for (const peer of peers.values()) {
      if (peer.streams.size > 0 && isLost(liveness, peer.lastHeardAtMs, nowMs)) {
        for (const stream of [...peer.streams]) stream.lost()
      }
      if (peer.streams.size === 0 && nowMs - peer.lastHeardAtMs > tuning.lostAfterMs) peers.delete(peer.id)
    }
  }

  const timer = setInterval(() => {
    const nowMs = now()
    const stoodStillMs = tick(liveness, nowMs)
    if (stoodStillMs > 0) {
      counters.pauses++
      onStatus({ type: 'pause', stoodStillMs })
    }
    if (nowMs - beatAtMs >= tuning.heartbeatMs - tuning.tickMs / 2) beat(nowMs)
    judge(nowMs)
  }, tuning.tickMs).unref()

  return {
    get,
    flush: () => {
      for (const peer of peers.values()) peer.flush()
    },
    close: () => clearInterval(timer),
  }
}
