/**
 * A client on a connection of its own that takes nothing of its streamed answer unless it is told to.
 */

import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

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

/**
 * Resolves when the answer has begun. A gateway that is late may say when to come back, and then it is asked again, as
 * official clients do. Every other refusal rejects.
 */
export async function openSlowReader(question: SlowQuestion): Promise<SlowReader> {
  const giveUpAtMs = performance.now() + COMES_BACK_WITHIN_MS
  for (;;) {
    const response = await ask(question)
    if (response.statusCode === 200) return slowReader(response)
    const retryAfterMs = Number(response.headers['retry-after-ms'] ?? Infinity)
    const body = await text(response)
    if (response.statusCode !== 503 || performance.now() + retryAfterMs > giveUpAtMs)
      throw new Error(`a slow reader was answered ${response.statusCode}: ${body}`)
    await sleep(retryAfterMs)
  }
}

const COMES_BACK_WITHIN_MS = 30_000

/** So high that the router ends no answer that waits for its reader. */
const MAX_TOKENS = 500_000

/** The answer is paused. */
function ask({ url, key, model, content = 'go on' }: SlowQuestion): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const asked = request(`${url}/v1/chat/completions`, { method: 'POST', headers, agent: false }, (response) => {
    response.on('error', () => {})
    resolve(response.pause())
  })
  asked.on('error', reject)
  const messages = [{ role: 'user', content }]
  asked.end(JSON.stringify({ model, stream: true, max_tokens: MAX_TOKENS, messages }))
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
