/**
 * Attacks of one guest, or one key, on an edge within its limits. Each attack is a request that its connections repeat
 * as soon as they have its response, against the response's advice.
 */

import { Agent, request } from 'node:http'
import { once } from 'node:events'

export interface Attack {
  name: string
  connections: number
  method: 'GET' | 'POST'
  path: string
  body?: Buffer
}

const LARGE_BYTES = 2_900_000
/**
 * 72 MB a second, more than half a gigabit. A server that closes the connection of a refused body gets no more of it, and the
 * sender may begin the next one. Without this bound its own copying, on the core of the neighbour's client, would be the figure.
 */
const LARGE_PER_SECOND = 25
const MODEL = 'svc-instant'
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const CHAT = '/v1/chat/completions'

const manyMessages = json({
  model: MODEL,
  max_tokens: 5,
  messages: Array.from({ length: 60_000 }, (_, at) => ({ role: 'user', content: `hello ${at}` })),
})
const text = json({
  model: MODEL,
  max_tokens: 5,
  messages: [{ role: 'user', content: 'word '.repeat(LARGE_BYTES / 5) }],
})
const broken = Buffer.concat([text.subarray(0, LARGE_BYTES), Buffer.from('}')])
const small = json({ model: MODEL, messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 })

export const ATTACKS: readonly Attack[] = [
  { name: '60,000 messages in 2.6 MB', connections: 5, method: 'POST', path: CHAT, body: manyMessages },
  { name: 'texts of 2.9 MB', connections: 20, method: 'POST', path: CHAT, body: text },
  { name: 'broken JSON of 2.9 MB', connections: 20, method: 'POST', path: CHAT, body: broken },
  { name: 'small broken JSON', connections: 64, method: 'POST', path: CHAT, body: Buffer.from('{"model":') },
  { name: 'small requests beyond the limit', connections: 64, method: 'POST', path: CHAT, body: small },
  { name: 'count_tokens of 2.9 MB', connections: 20, method: 'POST', path: '/v1/messages/count_tokens', body: text },
  { name: 'quotes of 2.9 MB', connections: 20, method: 'POST', path: '/v1/quote', body: text },
  { name: 'quota', connections: 64, method: 'GET', path: '/billing/quota' },
  { name: 'usage', connections: 64, method: 'GET', path: '/v1/usage' },
]

export interface RunningAttack {
  /** The number of responses so far. */
  count(): number
  /** Responses by status. */
  stop(): Promise<Record<string, number>>
}

/** On connections that are kept. The attack opens again those that the edge closes. */
export function attack({ connections, method, path, body }: Attack, port: number, key: string): RunningAttack {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const statuses: Record<string, number> = {}
  const stopping = new AbortController()
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
  }

  async function send(): Promise<string> {
    const sent = request({ port, method, path, headers, agent })
    sent.end(body)
    const [response] = await once(sent, 'response')
    response.resume()
    await once(response, 'close')
    return String(response.statusCode)
  }

  const turns = pace(body ? LARGE_PER_SECOND * (LARGE_BYTES / body.length) : Infinity)
  const connection = async () => {
    while (!stopping.signal.aborted) {
      await turns()
      const status = await send().catch(() => 'cut')
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  const all = Array.from({ length: connections }, connection)
  return {
    count: () => Object.values(statuses).reduce((sum, times) => sum + times, 0),
    async stop() {
      stopping.abort()
      // An edge may hold a refusal back for a second.
      await Promise.race([Promise.all(all), new Promise((resolve) => setTimeout(resolve, 5_000))])
      agent.destroy()
      return statuses
    },
  }
}

/** Resolves so often in a second at most. */
function pace(perSecond: number): () => Promise<unknown> {
  let nextAtMs = performance.now()
  return () => {
    const nowMs = performance.now()
    const waitMs = Math.max(0, nextAtMs - nowMs)
    nextAtMs = Math.max(nowMs, nextAtMs) + 1_000 / perSecond
    return waitMs > 0 ? new Promise((resolve) => setTimeout(resolve, waitMs)) : Promise.resolve()
  }
}
