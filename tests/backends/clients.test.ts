/**
 * The clients that people use, against the gateway in front of llama.cpp and in front of each strict stand-in. Nothing in
 * a client is ours but the address, the key and the model.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sendJson, startHttpBackend } from '../../services/router/test/http-backend.ts'
import { newDeveloper } from '../promises/gateway.ts'
import { startStandalone, type Standalone } from '../promises/standalone.ts'
import { note } from './evidence.ts'
import { DIMENSIONS, type LlamaServer, MODEL, startLlama } from './llama-server.ts'
import { startStrictBackends, type StrictBackend } from './strict-backends.ts'

const CLIENTS = {
  'openai (Node)': 'openai.mjs',
  'openai (Python)': 'openai_client.py',
  'Vercel AI SDK': 'ai-sdk.mjs',
  'LangChain (JavaScript)': 'langchain.mjs',
  'LangChain (Python)': 'langchain_client.py',
  'LlamaIndex (Python)': 'llamaindex_client.py',
  'anthropic (Node)': 'anthropic.mjs',
  'anthropic (Python)': 'anthropic_client.py',
}
const REQUESTS = ['chat', 'stream', 'tools', 'structured output', 'embeddings', 'retries'] as const
/** Of the clients that speak the Responses API. */
const RESPONSES = ['responses', 'responses stream', 'responses tools', 'responses structured output'] as const
type RequestKind = (typeof REQUESTS)[number] | (typeof RESPONSES)[number]

const stack = new AsyncDisposableStack()
const strict = await startStrictBackends(stack)
let gateway: Standalone
let key: string
/** Refusals that the backend of `flaky` has still to give. */
let refusals = 0

beforeAll(async () => {
  const llama = stack.use(await startLlama())
  const embeddings = stack.use(await startLlama({ embeddings: true, slots: 1 }))
  const flaky = stack.use(
    await startHttpBackend((response) => {
      if (refusals-- > 0)
        return sendJson(response, 503, { error: { message: 'Loading model', type: 'unavailable_error' } })
      const message = { role: 'assistant', content: 'It answers at last' }
      const usage = { prompt_tokens: 1, completion_tokens: 4, total_tokens: 5 }
      return sendJson(response, 200, {
        id: 'a',
        object: 'chat.completion',
        created: 1,
        model: 'flaky',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      })
    }),
  )
  gateway = stack.use(await startStandalone({ config: configFor(llama, embeddings, flaky.url) }))
  key = (await newDeveloper({ urls: [gateway.url], issuer: gateway.issuer })).key
}, 180_000)
afterAll(() => stack.disposeAsync())

function configFor(llama: LlamaServer, embeddings: LlamaServer, flakyUrl: string): object {
  const timeouts = { connectMs: 2_000, firstByteMs: 60_000, idleMs: 30_000 }
  const chat = ['chat', 'tools']
  const backends = [
    { id: 'llama', url: llama.url, timeouts, maxConcurrent: 2, capabilities: chat },
    { id: 'embeddings', url: embeddings.url, capabilities: ['embeddings'] },
    { id: 'flaky', url: flakyUrl, capabilities: chat },
    ...strict.map(({ id, vendor, url, apiKey, requests }) => ({
      ...{ id, vendor, url, apiKey },
      capabilities: requests.includes('embeddings') ? [...chat, 'embeddings'] : chat,
      // The simulated backend behind the stand-ins knows no other path.
      dialects: [vendor === 'anthropic' ? 'messages' : 'chat'],
    })),
  ]
  const models = [
    { id: 'llama', model: MODEL },
    { id: 'flaky', model: 'flaky' },
    ...strict.map(({ id, model }) => ({ id, model })),
  ]
  const embedding = strict.filter(({ requests }) => requests.includes('embeddings'))
  return {
    backends,
    pools: [
      ...models.map(({ id, model }) => ({ id, targets: [{ backend: id, model }] })),
      { id: 'embeddings', targets: [{ backend: 'embeddings', model: MODEL }] },
    ],
    models: [
      ...models.map(({ id }) => ({ id, type: 'chat', pool: id, multiplier: 1, maxOutputTokens: 1_000 })),
      { id: 'embeddings', type: 'embeddings', pool: 'embeddings', dimensions: DIMENSIONS },
      ...embedding.map(({ id }) => ({ id: embeddingsOf(id), type: 'embeddings', pool: id, dimensions: 768 })),
    ],
    plans: [
      { slug: 'guest-device', limit: 1e9, rpm: 1_000, tpm: 1e9, perDay: 1_000, guest: true },
      { slug: 'team', limit: 1e9, rpm: 10_000, tpm: 1e9, default: true },
    ],
  }
}

const embeddingsOf = (id: string) => `${id}-embeddings`
const clients = Object.entries(CLIENTS).map(([client, script]) => ({ client, script }))
const ofOpenAi = clients.filter(({ script }) => script.startsWith('openai'))

describe.each(ofOpenAi)('$client by the Responses API', ({ client, script }) => {
  test.each(RESPONSES)('in front of llama.cpp: %s', async (kind) => {
    const outcomes = await requested(script, 'llama', [kind])
    note({ clients: [{ client, server: 'llama.cpp, a real server', outcomes }] })
    expect(outcomes).toEqual([{ name: kind, value: expect.stringMatching(/./) }])
  })

  test.each(strict)('in front of a strict $vendor', async ({ id, vendor }: StrictBackend) => {
    const outcomes = await requested(script, id, RESPONSES)
    note({ clients: [{ client, server: `${vendor}, a stand-in`, outcomes }] })
    expect(outcomes).toEqual(RESPONSES.map((name) => ({ name, value: expect.stringMatching(/./) })))
  })
})

describe.each(clients)('$client', ({ client, script }) => {
  // Anthropic's API has no embeddings.
  const requests = REQUESTS.filter((kind) => kind !== 'embeddings' || !client.startsWith('anthropic'))

  test.each(requests.map((kind) => ({ kind })))('in front of llama.cpp: $kind', async ({ kind }) => {
    refusals = kind === 'retries' ? 2 : 0
    const outcomes = await requested(script, 'llama', [kind])
    note({ clients: [{ client, server: 'llama.cpp, a real server', outcomes }] })
    expect(outcomes).toEqual([{ name: kind, value: expect.stringMatching(/./) }])
    if (kind === 'embeddings') expect(outcomes[0]!.value).toBe(String(DIMENSIONS))
  })

  test.each(strict)('in front of a strict $vendor', async ({ id, vendor, requests: some }: StrictBackend) => {
    const wanted = some.filter((kind) => requests.includes(kind))
    const outcomes = await requested(script, id, wanted, embeddingsOf(id))
    note({ clients: [{ client, server: `${vendor}, a stand-in`, outcomes }] })
    expect(outcomes).toEqual(wanted.map((name) => ({ name, value: expect.stringMatching(/./) })))
  })
})

export interface Outcome {
  name: string
  value?: string
  error?: string
}

async function requested(
  script: string,
  model: string,
  requests: readonly RequestKind[],
  embeddings = 'embeddings',
): Promise<Outcome[]> {
  const folder = process.env['CLIENTS_FOLDER']!
  const program = script.endsWith('.py') ? process.env['CLIENTS_PYTHON']! : process.execPath
  const child = spawn(program, [join(folder, script)], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      OPENAI_BASE_URL: `${gateway.url}/v1`,
      OPENAI_API_KEY: key,
      ANTHROPIC_BASE_URL: gateway.url,
      ANTHROPIC_API_KEY: key,
      CHAT_MODEL: model,
      EMBEDDINGS_MODEL: embeddings,
      FLAKY_MODEL: 'flaky',
      TIKTOKEN_CACHE_DIR: process.env['TIKTOKEN_CACHE_DIR'] ?? '',
      REQUESTS: requests.join(','),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()))
  await once(child, 'close')
  if (out === '') throw new Error(`${script} said nothing:\n${err}`)
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Outcome)
}
