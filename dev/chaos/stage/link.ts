/**
 * A TCP proxy between two that speak with each other, which can be cut, muted or slowed.
 *
 * Untouched, bytes pass as they come, each side as fast as the other reads.
 */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

export interface Link extends AsyncDisposable {
  /** Connect here instead. */
  readonly port: number
  /** Resets every connection and refuses new ones. */
  cut(): void
  /** Keeps connections and lets nothing pass. */
  mute(): void
  /** The same for the bytes of those who connect; they go on receiving. A cut then loses their bytes. */
  muteOutward(): void
  /** Holds back everything for so long, each way. */
  slow(delayMs: number): void
  heal(): void
}

type Mood =
  | { kind: 'well' }
  | { kind: 'cut' }
  | { kind: 'muted'; ways: readonly Way[] }
  | { kind: 'slow'; delayMs: number }

/** From those who connect, or to them. */
type Way = 'outward' | 'inward'

/** One direction of one connection. */
interface Flow {
  /** The mood has changed. */
  adapt(): void
}

export async function openLink(to: { host: string; port: number }): Promise<Link> {
  let mood: Mood = { kind: 'well' }
  const flows = new Set<Flow>()
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    if (mood.kind === 'cut') return void near.resetAndDestroy()
    const far = connect({ ...to, allowHalfOpen: true, noDelay: true })
    const both = [flow('outward', near, far, () => mood), flow('inward', far, near, () => mood)]
    for (const one of both) flows.add(one)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        sockets.delete(socket)
        for (const one of both) flows.delete(one)
        const other = socket === near ? far : near
        if (!other.destroyed && !other.writableEnded) other.resetAndDestroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const change = (to: Mood) => {
    mood = to
    if (mood.kind === 'cut') for (const socket of sockets) socket.resetAndDestroy()
    for (const one of flows) one.adapt()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => change({ kind: 'cut' }),
    mute: () => change({ kind: 'muted', ways: ['outward', 'inward'] }),
    muteOutward: () => change({ kind: 'muted', ways: ['outward'] }),
    slow: (delayMs) => change({ kind: 'slow', delayMs }),
    heal: () => change({ kind: 'well' }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function flow(way: Way, from: Socket, to: Socket, moodNow: () => Mood): Flow {
  const isMuted = () => {
    const mood = moodNow()
    return mood.kind === 'muted' && mood.ways.includes(way)
  }
  const adapt = () => void (isMuted() ? from.pause() : from.resume())
  /** Bytes on their way; while there are any, later ones wait behind them. */
  const delayed: (() => void)[] = []
  let lastDueMs = 0
  const inTurn = (act: () => void) => {
    const mood = moodNow()
    const delayMs = mood.kind === 'slow' ? mood.delayMs : 0
    if (delayMs === 0 && delayed.length === 0) return act()
    const nowMs = performance.now()
    lastDueMs = Math.max(lastDueMs, nowMs + delayMs)
    delayed.push(act)
    // Timers of different lengths may swap places, so each takes the first that waits.
    setTimeout(() => delayed.shift()?.(), lastDueMs - nowMs)
  }
  from.on('data', (bytes) =>
    inTurn(() => {
      if (!to.destroyed && !to.write(bytes)) from.pause()
    }),
  )
  from.on('end', () => inTurn(() => to.end()))
  to.on('drain', adapt)
  // A connection that is made while nothing passes is no way around that.
  adapt()
  return { adapt }
}
