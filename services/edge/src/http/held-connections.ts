/**
 * Connections that the edge does not read for a time. What their clients send meanwhile waits in the system's buffers, costs the
 * edge nothing, and stops the sender when they are full.
 *
 * The edge holds the connection of a refused request until the refusal's time is over: a client that sends again at once would
 * cost it another refusal. When it has room before that, it reads the connection that it held last. The request there has
 * waited least.
 */

import type { Socket } from 'node:net'

export interface HeldConnections {
  hold(socket: Socket, untilMs: number): void
  /** There is room for one more request. */
  resumeNewest(): void
  resumeDue(nowMs: number): void
  readonly count: number
}

interface Held {
  socket: Socket
  untilMs: number
}

export function holdConnections(): HeldConnections {
  let held: Held[] = []
  return {
    hold(socket, untilMs) {
      pauseReading(socket)
      held.push({ socket, untilMs })
    },
    resumeNewest() {
      const newest = held.pop()
      if (newest) resumeReading(newest.socket)
    },
    resumeDue(nowMs) {
      const due = held.filter(({ untilMs }) => untilMs <= nowMs)
      if (due.length === 0) return
      held = held.filter(({ untilMs }) => untilMs > nowMs)
      for (const { socket } of due) resumeReading(socket)
    },
    get count() {
      return held.length
    },
  }
}

/** The HTTP parser resumes a socket as soon as its request has been read from. Each pause needs a resume of its own. */
export function pauseReading(socket: Socket): void {
  socket.on('resume', pauseAgain)
  socket.pause()
}

export function resumeReading(socket: Socket): void {
  socket.off('resume', pauseAgain)
  if (!socket.destroyed) socket.resume()
}

function pauseAgain(this: Socket): void {
  this.pause()
}
