/**
 * A well-behaved client that sends requests without pause, while others misbehave.
 */

import type { Caller } from '../promises/gateway.ts'

export interface HealthyClient {
  readonly served: number
  /** Its failures, in words. */
  readonly troubles: string[]
  /** The longest that it waited. */
  readonly longestMs: number
  stop(): Promise<void>
}

export function startHealthyClient(url: string, { key }: Caller): HealthyClient {
  const troubles: string[] = []
  let served = 0
  let longestMs = 0
  const stopping = new AbortController()

  async function sendRequest(stream: boolean): Promise<void> {
    const startedAtMs = performance.now()
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'svc-core', stream, messages: [{ role: 'user', content: 'Say: all is well' }] }),
    })
    const text = await response.text()
    longestMs = Math.max(longestMs, performance.now() - startedAtMs)
    const complete = stream ? text.endsWith('data: [DONE]\n\n') : text.includes('all is well')
    if (response.status === 200 && complete) served++
    else troubles.push(`${response.status}: ${text.slice(0, 200)}`)
  }

  const running = (async () => {
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      await sendRequest(turn % 2 === 0).catch((error: unknown) => troubles.push(String(error)))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()

  return {
    get served() {
      return served
    },
    troubles,
    get longestMs() {
      return longestMs
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
