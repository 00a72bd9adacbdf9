/**
 * Comments and pings of a stream. An edge adds its own, so a client's copy of a stream may have others.
 */

const COLON = 0x3a
const PING = new TextEncoder().encode('event: ping')

export function isSignOfLife(event: Uint8Array): boolean {
  return event[0] === COLON || PING.every((byte, at) => event[at] === byte)
}
