/**
 * What one guest, or one key, can do to an edge without a limit being passed: each attack is a request that its connections
 * repeat as soon as it was answered, whatever the answer advises.
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
  /** How many so far. */
  answered(): number
  /** Answers by status. */
  stop(): Promise<Record<string, number>>
}

/** On connections that are kept. Which one an edge closes is opened again. */
export function begin({ connections, method, path, body }: Attack, port: number, key: string): RunningAttack {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const statuses: Record<string, number> = {}
  const stopping = new AbortController()
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
  }

  async function ask(): Promise<string> {
    const asked = request({ port, method, path, headers, agent })
    asked.end(body)
    const [answer] = await once(asked, 'response')
    answer.resume()
    await once(answer, 'close')
    return String(answer.statusCode)
  }

  const connection = async () => {
    while (!stopping.signal.aborted) {
      const status = await ask().catch(() => 'cut')
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  const all = Array.from({ length: connections }, connection)
  return {
    answered: () => Object.values(statuses).reduce((sum, count) => sum + count, 0),
    async stop() {
      stopping.abort()
      // An edge may hold a refusal back for a second.
      await Promise.race([Promise.all(all), new Promise((resolve) => setTimeout(resolve, 5_000))])
      agent.destroy()
      return statuses
    },
  }
}
