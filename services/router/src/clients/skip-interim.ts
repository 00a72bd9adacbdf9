/**
 * Reads over interim answers (1xx) that no request asked for, before undici sees them. A client of HTTP must be able to
 * (RFC 9110, section 15.2), but undici ends the connection at a 100.
 *
 * An interim answer can stand only between a request's first byte out and its final answer's first byte in. Every other
 * byte passes as it is, and so does an interim answer that has no end.
 */

import type { Socket } from 'node:net'

/** A 101 is final: the connection speaks something else from there on. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)[0-9]{2}[ \r]/
const SHORTEST = 'HTTP/1.1 100 '
/** As long as a head may be. */
const LONGEST_BYTES = 16 * 1024

export function skipInterim(socket: Socket): void {
  const read = socket.read.bind(socket) as () => Buffer | null
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
  let isBeforeAnswer = false
  /** The beginning of a head that may turn out to be interim. */
  let held: Buffer | null = null

  socket.write = (...args: unknown[]) => {
    isBeforeAnswer = true
    return write(...args)
  }

  socket.read = () => {
    if (!isBeforeAnswer) return read()
    for (let bytes = read(); bytes !== null; bytes = read()) {
      const rest = afterInterim(held ? Buffer.concat([held, bytes]) : bytes)
      held = rest.isOpen ? rest.bytes : null
      if (rest.isOpen) continue
      isBeforeAnswer = false
      return rest.bytes
    }
    return null
  }
}

/** `isOpen`: more has to come before it is known whether these bytes belong to the final answer. */
function afterInterim(bytes: Buffer): { bytes: Buffer; isOpen: boolean } {
  for (let rest = bytes; ;) {
    const start = rest.toString('latin1', 0, SHORTEST.length)
    if (!INTERIM.test(start + SHORTEST.slice(start.length))) return { bytes: rest, isOpen: false }
    if (start.length < SHORTEST.length) return { bytes: rest, isOpen: true }
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return { bytes: rest, isOpen: rest.length < LONGEST_BYTES }
    rest = rest.subarray(end + 4)
  }
}
