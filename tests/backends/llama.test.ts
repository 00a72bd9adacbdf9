/**
 * The whole gateway in front of llama.cpp's own server. The tests show its clients' view when that server is busy, is
 * killed or refuses.
 */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openDatabase } from '@gateway/postgres/database'
import type OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { userMessages, newDeveloper, type Caller } from '../promises/gateway.ts'
import { startStandalone, type Standalone } from '../promises/standalone.ts'
import { note } from './evidence.ts'
import { CONTEXT_TOKENS, DIMENSIONS, type LlamaServer, MODEL, startLlama } from './llama-server.ts'

const SLOTS = 2
/** The time that a server may take to notice, and a row to be written. */
const SOON = { timeout: 20_000, interval: 50 }
const LONG = userMessages('Count from 1 to 500, one number in each line.')
const CITY = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const WEATHER = { type: 'function' as const, function: { name: 'get_weather', parameters: CITY } }

const stack = new AsyncDisposableStack()
let steady: LlamaServer
let standalone: Standalone
let caller: Caller

beforeAll(async () => {
  steady = stack.use(await startLlama({ slots: SLOTS }))
  const embedding = stack.use(await startLlama({ embeddings: true, slots: 1 }))
  standalone = stack.use(await startStandalone({ config: configFor({ steady, embedding }) }))
  caller = await newDeveloper({ urls: [standalone.url], issuer: standalone.issuer })
}, 180_000)
afterEach(({ task }) => {
  const where = task.suite?.name ?? ''
  note({ tests: [{ server: 'llama.cpp', test: `${where}, ${task.name}`, passed: task.result?.state === 'pass' }] })
})
afterAll(() => stack.disposeAsync())

const TIMEOUTS = { connectMs: 2_000, firstByteMs: 60_000, idleMs: 30_000 }

function configFor(servers: Record<string, LlamaServer>): object {
  const chat = Object.keys(servers).filter((id) => id !== 'embedding')
  return {
    backends: Object.entries(servers).map(([id, { url }]) => ({
      id,
      url,
      timeouts: TIMEOUTS,
      maxConcurrent: SLOTS,
      capabilities: id === 'embedding' ? ['embeddings'] : ['chat', 'tools'],
    })),
    pools: [
      { id: 'llama', targets: chat.map((backend, at) => ({ backend, model: MODEL, priority: at + 1 })) },
      ...('embedding' in servers ? [{ id: 'embed', targets: [{ backend: 'embedding', model: MODEL }] }] : []),
    ],
    models: [
      { id: 'llama', type: 'chat', pool: 'llama', multiplier: 1, maxOutputTokens: 1_000 },
      ...('embedding' in servers
        ? [
            { id: 'vectors', type: 'embeddings', pool: 'embed', dimensions: DIMENSIONS },
            { id: 'wrong-vectors', type: 'embeddings', pool: 'embed' },
          ]
        : []),
    ],
    plans: [
      { slug: 'guest-device', limit: 1e9, rpm: 1_000, tpm: 1e9, perDay: 1_000, guest: true },
      { slug: 'team', limit: 1e9, rpm: 1_000, tpm: 1e9, default: true },
    ],
  }
}

describe('in front of llama.cpp', () => {
  test('a chat returns the complete record, and costs the tokens that the server counted', async () => {
    const { data, response } = await caller.client.chat.completions
      .create({ model: 'llama', messages: userMessages('Say hello.'), max_tokens: 12 })
      .withResponse()
    expect(data).toMatchObject({ object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant' } }] })
    expect(data.choices[0]!.message.content).not.toBe('')
    expect(data.usage!.completion_tokens).toBeLessThanOrEqual(12)
    expect(data.usage!.total_tokens).toBe(data.usage!.prompt_tokens + data.usage!.completion_tokens)
    expect(response.headers.get('x-svc-upstream')).toBe('llama')
    const row = await ledgerRow(standalone, response.headers.get('x-request-id')!)
    expect(row).toMatchObject({ delivered: true, estimated: false, completion_tokens: data.usage!.completion_tokens })
  })

  test('a cap under its newer name holds, too', async () => {
    const { usage } = await caller.client.chat.completions.create({
      model: 'llama',
      messages: LONG,
      max_completion_tokens: 9,
    })
    expect(usage!.completion_tokens).toBe(9)
  })

  test('a stream brings its parts, its end and its usage', async () => {
    const received = await hear(caller.client, { max_tokens: 16, stream_options: { include_usage: true } })
    expect(received.parts).toBeGreaterThan(3)
    expect(received.finish).toBe('length')
    expect(received.usage).toMatchObject({ completion_tokens: 16 })
  })

  test.each([false, true])('a tool is called with arguments that fit, streamed: %s', async (stream) => {
    const request = {
      model: 'llama',
      messages: userMessages('What is the weather in Paris? Call the tool.'),
      tools: [WEATHER],
      tool_choice: 'required' as const,
      temperature: 0,
      max_tokens: 80,
    }
    const [call] = stream
      ? (await caller.client.chat.completions.stream(request).finalMessage()).tool_calls!
      : (await caller.client.chat.completions.create(request)).choices[0]!.message.tool_calls!
    expect(call!.type === 'function' && call!.function.name).toBe('get_weather')
    expect(JSON.parse(call!.type === 'function' ? call!.function.arguments : '')).toHaveProperty('city')
  })

  test('a JSON schema holds', async () => {
    const schema = { ...CITY, properties: { city: { enum: ['Paris', 'Rome'] } } }
    const { choices } = await caller.client.chat.completions.create({
      model: 'llama',
      messages: userMessages('A city, as JSON.'),
      response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema } },
      max_tokens: 60,
    })
    expect(['Paris', 'Rome']).toContain((JSON.parse(choices[0]!.message.content!) as { city: string }).city)
  })

  test('log probabilities, a seed and a stop word arrive', async () => {
    const request = {
      model: 'llama',
      messages: LONG,
      max_tokens: 24,
      seed: 7,
      temperature: 0,
      logprobs: true,
      top_logprobs: 2,
    }
    const first = await caller.client.chat.completions.create(request)
    const again = await caller.client.chat.completions.create(request)
    expect(first.choices[0]!.logprobs!.content!.length).toBeGreaterThan(0)
    expect(again.choices[0]!.message.content).toBe(first.choices[0]!.message.content)
    const letter = first.choices[0]!.message.content!.trim()[3]!
    const stopped = await caller.client.chat.completions.create({ ...request, stop: [letter] })
    expect(stopped.choices[0]!.message.content).not.toContain(letter)
    expect(stopped.choices[0]!.finish_reason).toBe('stop')
  })

  test('texts and their tokens become vectors of the length that the config promises', async () => {
    const { data, usage } = await caller.client.embeddings.create({ model: 'vectors', input: ['a text', 'another'] })
    expect(data.map(({ embedding }) => embedding.length)).toEqual([DIMENSIONS, DIMENSIONS])
    expect(data[0]!.embedding).not.toEqual(data[1]!.embedding)
    expect(usage.prompt_tokens).toBeGreaterThan(0)
  })

  test('vectors of another length than the config promises are never handed out', async () => {
    const error = await failureOf(() => caller.client.embeddings.create({ model: 'wrong-vectors', input: 'a text' }))
    expect(error.status).toBeGreaterThanOrEqual(400)
  })

  test('a prompt that is too long is a 400 that says so', async () => {
    const messages = userMessages('word '.repeat(CONTEXT_TOKENS * 2))
    const error = await failureOf(() =>
      caller.client.chat.completions.create({ model: 'llama', messages, max_tokens: 5 }),
    )
    expect(error.status).toBe(400)
    expect(error.message).toMatch(/context/)
  })

  test('the server stops generating when the client leaves', async () => {
    const leaving = new AbortController()
    const stream = await caller.client.chat.completions.create(
      { model: 'llama', messages: LONG, max_tokens: 700, stream: true },
      { signal: leaving.signal },
    )
    for await (const _ of stream) break
    expect(await steady.generating()).toBe(1)
    leaving.abort()
    await expect.poll(() => steady.generating(), SOON).toBe(0)
  })

  test('more clients than slots all get a response, and the server never has more than its slots', async () => {
    const watch = watchGenerating(steady)
    const asking = Array.from({ length: SLOTS * 3 }, () =>
      caller.client.chat.completions.create({ model: 'llama', messages: LONG, max_tokens: 24 }),
    )
    const replies = await Promise.all(asking)
    expect(replies.map(({ usage }) => usage!.completion_tokens)).toEqual(asking.map(() => 24))
    expect(await watch.end()).toBe(SLOTS)
  })
})

describe('when llama.cpp is killed with -9', () => {
  test('in the middle of a stream, the client gets an error, and the ledger the delivered part', async () => {
    await using mortal = await startLlama({ slots: SLOTS })
    await using gateway = await startStandalone({ config: configFor({ mortal }) })
    const { client } = await newDeveloper({ urls: [gateway.url], issuer: gateway.issuer })
    const { data, response } = await client.chat.completions
      .create({ model: 'llama', messages: LONG, max_tokens: 700, stream: true })
      .withResponse()
    let parts = 0
    const error = await failureOf(async () => {
      for await (const _ of data) if (++parts === 5) void mortal.kill()
    })
    expect(parts).toBeGreaterThanOrEqual(5)
    expect(error.message).not.toBe('')
    const row = await ledgerRow(gateway, response.headers.get('x-request-id')!)
    expect(row).toMatchObject({ estimated: true, streamed: true })
    expect(row.completion_tokens).toBeGreaterThanOrEqual(parts - 2)
    expect(row.completion_tokens).toBeLessThanOrEqual(parts + 4)
  })

  test('before the first content, another server responds and the client notices nothing', async () => {
    await using mortal = await startLlama({ slots: SLOTS })
    await using gateway = await startStandalone({ config: configFor({ mortal, steady }) })
    const { client } = await newDeveloper({ urls: [gateway.url], issuer: gateway.issuer })
    // The prompt keeps the server busy for longer than the test needs to kill it.
    const messages = userMessages(`${'many words '.repeat(CONTEXT_TOKENS / 4)} Say hello.`)
    const asking = client.chat.completions.create({ model: 'llama', messages, max_tokens: 8 }).withResponse()
    await expect.poll(() => mortal.generating(), { timeout: 20_000, interval: 5 }).toBe(1)
    await mortal.kill()
    const { data, response } = await asking
    expect(data.usage!.completion_tokens).toBeGreaterThan(0)
    const row = await ledgerRow(gateway, response.headers.get('x-request-id')!)
    expect(row).toMatchObject({ backend: 'steady', delivered: true, completion_tokens: data.usage!.completion_tokens })
    // And from now on.
    const received = await hear(client, { max_tokens: 8 })
    expect(received.parts).toBeGreaterThan(0)
  })
})

/** Counts the most responses that the server generates at once, until `end`. */
function watchGenerating(server: LlamaServer): { end(): Promise<number> } {
  const ending = new AbortController()
  const watch = async () => {
    let most = 0
    while (!ending.signal.aborted) most = Math.max(most, await server.generating())
    return most
  }
  const watching = watch()
  return {
    end() {
      ending.abort()
      return watching
    },
  }
}

async function hear(client: OpenAI, options: { max_tokens: number; stream_options?: { include_usage: boolean } }) {
  const stream = await client.chat.completions.create({ model: 'llama', messages: LONG, stream: true, ...options })
  const received = { parts: 0, finish: '', usage: null as OpenAI.CompletionUsage | null }
  for await (const { choices, usage } of stream) {
    if (choices[0]?.delta.content) received.parts++
    received.finish = choices[0]?.finish_reason ?? received.finish
    received.usage = usage ?? received.usage
  }
  return received
}

async function failureOf(act: () => Promise<unknown>): Promise<{ status?: number; message: string }> {
  try {
    await act()
  } catch (error) {
    return error as { status?: number; message: string }
  }
  throw new Error('it did not fail')
}

interface Row {
  backend: string
  delivered: boolean
  estimated: boolean
  streamed: boolean
  completion_tokens: number
}

async function ledgerRow({ dataDir }: Standalone, requestId: string): Promise<Row> {
  const read = (name: string) => readFile(join(dataDir, 'postgres', name), 'utf8')
  const port = (await read('data/postmaster.pid')).split('\n')[3]
  await using database = await openDatabase(`postgres://gateway:${await read('password')}@127.0.0.1:${port}/postgres`)
  const find = async () => {
    const { rows } = await database.query<Row>(
      'select backend, delivered, estimated, streamed, completion_tokens::int from metering.ledger where request_id = $1',
      [requestId],
    )
    return rows
  }
  await expect.poll(async () => (await find()).length, SOON).toBe(1)
  return (await find())[0]!
}
