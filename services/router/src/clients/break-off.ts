/**
 * Breaks connections off in the middle of an answer so that the backend notices at once, whatever it is doing.
 *
 * Merely closed, a connection says so behind the bytes that the backend has still to send. Most servers that are blocked
 * in sending wait until those are acknowledged or refused, and after a loss the system offers them again only after
 * seconds or even minutes: all that time the backend generates for nobody. A reset throws them away. It is not repeated
 * when it is lost itself, but then the next byte of the answer is refused. TLS connections are closed: Node cannot
 * reset them.
 */

import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { buildConnector } from 'undici'
import { skipInterim } from './skip-interim.ts'

let isBreakingOff = false

/** The connection that `close` destroys, before it returns, is reset. */
export function breakOff(close: () => void): void {
  isBreakingOff = true
  try {
    close()
  } finally {
    isBreakingOff = false
  }
}

/** Opens connections that can be broken off, and read over interim answers. */
export function breakableConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options)
  return (to, callback) =>
    connect(to, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      if (!(socket instanceof TLSSocket)) makeBreakable(socket)
      skipInterim(socket)
      callback(null, socket)
    })
}

function makeBreakable(socket: Socket): void {
  const destroy = socket.destroy.bind(socket)
  socket.destroy = (error) => {
    socket.destroy = destroy
    return isBreakingOff ? socket.resetAndDestroy() : destroy(error)
  }
}
