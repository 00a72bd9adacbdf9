/**
 * A client on a connection of its own that takes nothing of its streamed answer unless it is told to.
 */

import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

export interface SlowReader {
  /** False when its answer has ended, however it did. */
  readonly isServed: boolean
  /** Takes up to so many bytes of what is there. */
  sip(bytes: number): void
  /** Closes its connection. */
  leave(): void
  /** Closes its side of the connection, and still takes nothing. */
  closeOwnSide(): void
}

interface SlowQuestion {
  url: string
  key: string
  model: string
  content?: string
}

/** Resolves when the answer has begun. */
export function openSlowReader({ url, key, model, content = 'go on' }: SlowQuestion): Promise<SlowReader> {
  const { promise, resolve, reject } = Promise.withResolvers<SlowReader>()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const asked = request(`${url}/v1/chat/completions`, { method: 'POST', headers, agent: false }, (response) => {
    response.on('error', () => {})
    if (response.statusCode === 200) return resolve(slowReader(response.pause()))
    const refuse = (body: string) => reject(new Error(`a slow reader was answered ${response.statusCode}: ${body}`))
    text(response).then(refuse, reject)
  })
  asked.on('error', reject)
  asked.end(JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] }))
  return promise
}

function slowReader(response: IncomingMessage): SlowReader {
  return {
    get isServed() {
      return !response.destroyed
    },
    sip: (bytes) => void response.read(Math.min(bytes, response.readableLength)),
    leave: () => void response.destroy(),
    closeOwnSide: () => void response.socket.end(),
  }
}
