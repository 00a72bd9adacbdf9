/**
 * A coding session of twenty turns through the gateway, in front of two llama.cpp servers. Each keeps the prefixes that it has
 * evaluated. Every request begins with the attribution block of Claude Code, which changes from turn to turn.
 */

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newDeveloper } from '../promises/gateway.ts'
import { startStandalone, type Standalone } from '../promises/standalone.ts'
import { note } from './evidence.ts'
import { MODEL, startLlama } from './llama-server.ts'

const TURNS = 20
/** Some 4,000 tokens, which no turn changes. */
const INSTRUCTIONS = Array.from(
  { length: 300 },
  (_, at) => `Rule ${at}: read file ${at} before you change it, and say which lines you changed.`,
).join('\n')
const QUESTION = 'Look at the next file of the folder and say in one line if anything in it is wrong.'
/** One slot each holds the whole session. */
const ENGINE = { slots: 1, chats: true, contextTokens: 12_288 }
const TIMEOUT_MS = 600_000

interface Usage {
  input_tokens: number
  cache_read_input_tokens?: number
}

const stack = new AsyncDisposableStack()
let standalone: Standalone
let key: string

beforeAll(async () => {
  const engines = [stack.use(await startLlama(ENGINE)), stack.use(await startLlama(ENGINE))]
  const timeouts = { connectMs: 2_000, firstByteMs: 300_000, idleMs: 300_000 }
  const config = {
    backends: engines.map(({ url }, at) => ({ id: `engine-${at}`, url, timeouts, capabilities: ['chat'] })),
    pools: [
      {
        id: 'agents',
        affinity: 'conversation',
        targets: engines.map((_, at) => ({ backend: `engine-${at}`, model: MODEL })),
      },
    ],
    models: [{ id: 'agent', type: 'chat', pool: 'agents', multiplier: 1, maxOutputTokens: 100 }],
    plans: [
      { slug: 'guest-device', limit: 1e9, rpm: 1_000, tpm: 1e9, perDay: 1_000, guest: true },
      { slug: 'team', limit: 1e9, rpm: 1_000, tpm: 1e9, default: true },
    ],
  }
  standalone = stack.use(await startStandalone({ config }))
  key = (await newDeveloper({ urls: [standalone.url], issuer: standalone.issuer })).key
}, TIMEOUT_MS)
afterEach(({ task }) => {
  note({ tests: [{ server: 'llama.cpp', test: task.name, passed: task.result?.state === 'pass' }] })
})
afterAll(() => stack.disposeAsync())

test(
  'the twentieth turn of a coding session evaluates its new tokens alone',
  async () => {
    const usages: Usage[] = []
    const messages: { role: 'user' | 'assistant'; content: string }[] = []
    for (let turn = 1; turn <= TURNS; turn++) {
      messages.push({ role: 'user', content: `Turn ${turn}. ${QUESTION}` })
      const { text, usage } = await send(turn, messages)
      usages.push(usage)
      messages.push({ role: 'assistant', content: text === '' ? 'Nothing is wrong.' : text })
    }
    const last = usages.at(-1)!
    const total = last.input_tokens + (last.cache_read_input_tokens ?? 0)
    process.stderr.write(
      `turn 1 evaluated ${usages[0]!.input_tokens} tokens, turn ${TURNS} ${last.input_tokens} of ${total}\n`,
    )
    expect(usages[0]!.input_tokens).toBeGreaterThan(3_000)
    expect(total).toBeGreaterThan(usages[0]!.input_tokens)
    expect(last.input_tokens).toBeLessThan(total / 10)
  },
  TIMEOUT_MS,
)

async function send(turn: number, messages: object[]): Promise<{ text: string; usage: Usage }> {
  const attribution = `x-anthropic-billing-header: cc_version=2.1.330; cc_entrypoint=cli; cch=${(turn * 7_919).toString(16)};`
  const response = await fetch(`${standalone.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'agent',
      max_tokens: 16,
      system: [
        { type: 'text', text: attribution },
        { type: 'text', text: INSTRUCTIONS },
      ],
      messages,
    }),
  })
  const body = (await response.json()) as { content: { type: string; text?: string }[]; usage: Usage }
  expect({ status: response.status, body }).toMatchObject({ status: 200 })
  const text = body.content.map((part) => part.text ?? '').join('')
  return { text, usage: body.usage }
}
