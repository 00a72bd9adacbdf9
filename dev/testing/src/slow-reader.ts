/**
 * A client on a connection of its own that reads nothing of its streamed response until the test calls for it.
 */

import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

export interface SlowReader {
  /** Its response is under way. */
  readonly isServed: boolean
  /** Takes up to so many of the bytes that have arrived. */
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

/**
 * Resolves when the response has begun. A gateway that is late may send Retry-After, and then the reader tries again,
 * as official clients do. Every other refusal rejects.
 */
export async function openSlowReader(question: SlowQuestion): Promise<SlowReader> {
  const giveUpAtMs = performance.now() + COMES_BACK_WITHIN_MS
  for (;;) {
    const response = await open(question)
    if (response.statusCode === 200) return slowReader(response)
    const retryAfterMs = Number(response.headers['retry-after-ms'] ?? Infinity)
    const body = await text(response)
    if (response.statusCode !== 503 || performance.now() + retryAfterMs > giveUpAtMs)
      throw new Error(`a slow reader got ${response.statusCode}: ${body}`)
    await sleep(retryAfterMs)
  }
}

const COMES_BACK_WITHIN_MS = 30_000

/** So high that the router ends no response that waits for its reader. */
const MAX_TOKENS = 500_000

/** The response is paused. */
function open({ url, key, model, content = 'go on' }: SlowQuestion): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const sent = request(`${url}/v1/chat/completions`, { method: 'POST', headers, agent: false }, (response) => {
    response.on('error', () => {})
    resolve(response.pause())
  })
  sent.on('error', reject)
  const messages = [{ role: 'user', content }]
  sent.end(JSON.stringify({ model, stream: true, max_tokens: MAX_TOKENS, messages }))
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
