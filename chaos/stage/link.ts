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
  /** Holds back everything for so long, each way. */
  slow(delayMs: number): void
  /** The same, and what is held back is lost with whoever sent it: as when its machine dies, not only its process. */
  slowAndMortal(delayMs: number): void
  heal(): void
}

type Mood =
  | { kind: 'well' }
  | { kind: 'cut' }
  | { kind: 'muted' }
  | { kind: 'slow'; delayMs: number; isMortal: boolean }

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
    const ways = [flow(near, far, () => mood), flow(far, near, () => mood)]
    for (const way of ways) flows.add(way)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        sockets.delete(socket)
        for (const way of ways) flows.delete(way)
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
    for (const way of flows) way.adapt()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => change({ kind: 'cut' }),
    mute: () => change({ kind: 'muted' }),
    slow: (delayMs) => change({ kind: 'slow', delayMs, isMortal: false }),
    slowAndMortal: (delayMs) => change({ kind: 'slow', delayMs, isMortal: true }),
    heal: () => change({ kind: 'well' }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function flow(from: Socket, to: Socket, moodNow: () => Mood): Flow {
  /** What is on its way; while there is anything, what comes later waits behind it. */
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
  from.on('end', () => {
    const mood = moodNow()
    if (mood.kind === 'slow' && mood.isMortal) to.resetAndDestroy()
    else inTurn(() => to.end())
  })
  to.on('drain', () => {
    if (moodNow().kind !== 'muted') from.resume()
  })
  return {
    adapt() {
      if (moodNow().kind === 'muted') from.pause()
      else from.resume()
    },
  }
}
