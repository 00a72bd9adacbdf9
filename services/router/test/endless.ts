/**
 * Responses of backends that mean harm, or are broken for good. Such a response has no end, or no bottom.
 */

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { openStream, type Reply } from './http-backend.ts'

/** Sends the piece again and again, as fast as it is taken, until so many bytes are sent or nobody is there. */
export async function sendOver(response: ServerResponse, piece: string, bytes = Infinity): Promise<void> {
  const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)))
  const gone = once(response, 'close')
  for (let sent = 0; sent < bytes && !response.destroyed; sent += block.length) {
    if (!response.write(block)) await Promise.race([once(response, 'drain'), gone])
    await new Promise((resolve) => setImmediate(resolve))
  }
}

export const endlessStream =
  (piece: string, before = ''): Reply =>
  async (response) => {
    openStream(response)
    response.write(before)
    await sendOver(response, piece)
  }

export const endlessBody =
  (status: number, before: string, piece: string): Reply =>
  async (response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.write(before)
    await sendOver(response, piece)
  }

/** A JSON text in which one array holds another, and so on. */
export const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
