/**
 * An HTTP client as the edge's response writer meets it: a response whose reader may be slow, and may leave.
 */

import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'

/** The buffer between the edge and a client that does not read. */
const SOCKET_BYTES = 200

export interface SimulatedClient {
  readonly response: ServerResponse
  /** All that the edge has written. */
  readonly text: string
  readonly hasLeft: boolean
  /** The edge has ended the response. */
  readonly isEnded: boolean
  stall(): void
  read(): void
  leave(): void
}

export function simulateClient(): SimulatedClient {
  const events = new EventEmitter()
  let text = ''
  let unread = 0
  let isSlow = false
  let isEnded = false
  let hasLeft = false

  const write = (bytes?: Uint8Array | string): boolean => {
    if (bytes === undefined || hasLeft) return true
    text += Buffer.from(bytes as string).toString()
    unread = isSlow ? unread + bytes.length : 0
    return unread <= SOCKET_BYTES
  }
  const close = (): void => {
    if (response.destroyed) return
    response.destroyed = true
    events.emit('close')
  }
  const response = Object.assign(events, {
    headersSent: false,
    destroyed: false,
    writeHead() {
      response.headersSent = true
    },
    flushHeaders() {},
    write,
    end(bytes?: Uint8Array | string) {
      write(bytes)
      isEnded = true
      close()
    },
    destroy: close,
  })
  return {
    response: response as unknown as ServerResponse,
    get text() {
      return text
    },
    get hasLeft() {
      return hasLeft
    },
    get isEnded() {
      return isEnded
    },
    stall() {
      isSlow = true
    },
    read() {
      isSlow = false
      if (unread <= SOCKET_BYTES || hasLeft) return
      unread = 0
      events.emit('drain')
    },
    leave() {
      if (isEnded || response.destroyed) return
      hasLeft = true
      close()
    },
  }
}
