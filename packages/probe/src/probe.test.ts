/**
 * The probe in front of servers that carry out, refuse or ignore its requests.
 */

import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { startBackend } from '@gateway/stand-ins/backend'
import { afterEach, describe, expect, test } from 'vitest'
import type { Finding } from './checks.ts'
import { describeServer, type ListedModel } from './describe-server.ts'
import type { JsonObject } from '@gateway/contracts/json'
import { findServers, commandFor } from './find-servers.ts'
import { costOf, probe } from './probe.ts'
import { openServer } from './server.ts'
import { configFor } from './write-config.ts'

const stack: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of stack.splice(0)) await one[Symbol.asyncDispose]()
})

const CHAT: ListedModel = { id: 'm', does: 'chat', parameters: null, contextWindow: null }
const EMBEDDINGS: ListedModel = { ...CHAT, does: 'embeddings' }

interface Reply {
  status?: number
  json?: unknown
  events?: string
  /** The response never comes. */
  silent?: boolean
}

interface ReceivedRequest {
  method: string
  path: string
  authorization: string | undefined
  body: JsonObject
}

/** Starts a server that responds as the test specifies. */
async function serve(
  reply: (request: ReceivedRequest) => Reply,
): Promise<{ url: string; requests: ReceivedRequest[] }> {
  const requests: ReceivedRequest[] = []
  const http: HttpServer = createServer((request, response) => {
    void text(request).then((body) => {
      const one: ReceivedRequest = {
        method: request.method!,
        path: request.url!,
        authorization: request.headers.authorization,
        body: body === '' ? {} : (JSON.parse(body) as JsonObject),
      }
      requests.push(one)
      const { status = 200, json, events, silent = false } = reply(one)
      if (silent) return
      response.writeHead(status, { 'content-type': events === undefined ? 'application/json' : 'text/event-stream' })
      response.end(events ?? JSON.stringify(json ?? {}))
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  stack.push({
    [Symbol.asyncDispose]: () => {
      http.closeAllConnections()
      return new Promise<void>((resolve) => http.close(() => resolve()))
    },
  })
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`, requests }
}

const said = (content: string) => ({
  json: {
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  },
})
const callsTool = (): Reply => {
  const call = { id: 'c', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }
  return {
    json: { choices: [{ index: 0, message: { role: 'assistant', tool_calls: [call] }, finish_reason: 'tool_calls' }] },
  }
}
const refuses = (message: string): Reply => ({ status: 400, json: { error: { message } } })

async function findingsOf(url: string, model = CHAT, only?: string[]): Promise<Record<string, Finding['result']>> {
  const { findings } = await probe({ server: openServer({ url }), kind: null, model, ...(only ? { only } : {}) })
  return Object.fromEntries(findings.map(({ check, result }) => [check, result]))
}

describe('a probe', () => {
  test('finds out everything that a willing server does', async () => {
    const backend = await startBackend()
    stack.push(backend)
    const found = await findingsOf(backend.url)
    expect(found).toMatchObject({
      chat: 'yes',
      max_tokens: 'yes',
      max_completion_tokens: 'yes',
      usage: 'yes',
      stream: 'yes',
      'usage in streams': 'yes',
      tools: 'yes',
      'tools in streams': 'yes',
      'JSON schema': 'yes',
      temperature: 'taken',
    })
  })

  test('distinguishes a refusal from silence: a parameter that the server ignores does not count as taken', async () => {
    const { url } = await serve(({ body }) => ('seed' in body ? refuses('seed is not supported') : said('1 2 3 4 5 6')))
    const only = ['seed', 'stop', 'n', 'tools', 'JSON object', 'logprobs']
    const found = await findingsOf(url, CHAT, only)
    expect(found).toEqual(Object.fromEntries(only.map((name) => [name, 'no'])))
  })

  test('writes the cap under the name that the server takes, and finds out both', async () => {
    const { url, requests } = await serve(({ body }) =>
      'max_tokens' in body ? refuses("Unsupported parameter: 'max_tokens'") : said('hello'),
    )
    const found = await findingsOf(url, CHAT, ['chat', 'max_tokens', 'max_completion_tokens', 'usage'])
    expect(found).toEqual({ chat: 'yes', max_tokens: 'no', max_completion_tokens: 'yes', usage: 'yes' })
    expect(requests.at(-1)!.body).toHaveProperty('max_completion_tokens')
  })

  test('a cap that the server ignores is none', async () => {
    const long = { ...said('1 2 3').json, usage: { prompt_tokens: 3, completion_tokens: 40 } }
    const { url } = await serve(() => ({ json: long }))
    expect(await findingsOf(url, CHAT, ['max_tokens'])).toEqual({ max_tokens: 'no' })
  })

  test('a stream without its last event is none', async () => {
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'hi' } }] })}\n\n`
    const { url } = await serve(() => ({ events: event }))
    expect(await findingsOf(url, CHAT, ['stream'])).toEqual({ stream: 'no' })
  })

  test('sends no more than it has announced, however the server responds, and each request has a cap', async () => {
    for (const reply of [said('x'), refuses('no'), { status: 500 }, { events: 'data: [DONE]\n\n' }]) {
      const { url, requests } = await serve(() => reply)
      await findingsOf(url)
      const chats = requests.filter(({ method }) => method === 'POST')
      const cost = costOf([CHAT])
      expect(chats.length).toBeLessThanOrEqual(cost.requests)
      const caps = chats.map(
        ({ body }) => Number(body['max_tokens'] ?? body['max_completion_tokens']) * Number(body['n'] ?? 1),
      )
      expect(caps.reduce((sum, cap) => sum + cap, 0)).toBeLessThanOrEqual(cost.completionTokens)
      for (const { body } of chats) expect(JSON.stringify(body).length).toBeLessThan(1_200)
    }
  })

  test('ends where the server refuses every request', async () => {
    const { url, requests } = await serve(() => ({ status: 401, json: { error: { message: 'no such key' } } }))
    const { findings } = await probe({ server: openServer({ url }), kind: null, model: CHAT })
    expect(findings).toEqual([{ check: 'chat', result: 'no', note: '401: no such key' }])
    expect(requests).toHaveLength(1)
  })

  test('sees that llama.cpp stops when its client leaves, and that it goes on', async () => {
    for (const stops of [true, false]) {
      let left = false
      const slots = { generating: false }
      const http = createServer((request, response) => {
        if (request.url === '/slots') return response.end(JSON.stringify([{ is_processing: slots.generating }]))
        slots.generating = true
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: {"choices":[{"index":0,"delta":{"content":"1"}}]}\n\n')
        response.on('close', () => {
          left = true
          if (stops) slots.generating = false
        })
      })
      await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
      const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`
      const only = ['stops when the client leaves']
      const { findings } = await probe({ server: openServer({ url }), kind: 'llama.cpp', model: CHAT, only })
      expect(left).toBe(true)
      expect(findings[0]!.result).toBe(stops ? 'yes' : 'no')
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    }
  })

  test('knows which embeddings the gateway can use', async () => {
    const vectors = (length: number) => ({ json: { data: [{ embedding: Array.from({ length }, () => 0.5) }] } })
    const shortened = await serve(({ body }) => vectors(Number(body['dimensions'] ?? 1536)))
    expect(await findingsOf(shortened.url, EMBEDDINGS)).toMatchObject({
      embeddings: 'yes',
      '768 dimensions': 'yes',
      dimensions: 'yes',
    })
    const fixed = await serve(({ body }) => ('dimensions' in body ? refuses('dimensions') : vectors(640)))
    expect(await findingsOf(fixed.url, EMBEDDINGS)).toMatchObject({
      embeddings: 'yes',
      '768 dimensions': 'no',
      dimensions: 'no',
    })
  })

  test("speaks Anthropic's dialect", async () => {
    const { url, requests } = await serve(({ body }) => {
      if (body['tools'])
        return {
          json: {
            content: [{ type: 'tool_use', name: 'get_weather', input: { city: 'Paris' } }],
            stop_reason: 'tool_use',
          },
        }
      if (body['stream'] !== true)
        return { json: { content: [{ type: 'text', text: 'hi' }], usage: { input_tokens: 3, output_tokens: 2 } } }
      const events = [
        { type: 'message_start', message: { content: [], usage: { input_tokens: 3, output_tokens: 1 } } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
        { type: 'message_stop' },
      ]
      return { events: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('') }
    })
    const server = openServer({ url, apiKey: 'k', dialect: 'anthropic' })
    const only = ['chat', 'usage', 'stream', 'usage in streams', 'tools']
    const { findings } = await probe({ server, kind: 'anthropic', model: CHAT, only })
    expect(findings.map(({ result }) => result)).toEqual(only.map(() => 'yes'))
    expect(requests[0]!.path).toBe('/v1/messages')
  })
})

describe("a server's description", () => {
  test('llama.cpp reports its slots and the context window of each', async () => {
    const { url } = await serve(({ path }) =>
      path === '/props'
        ? { json: { total_slots: 2, default_generation_settings: { n_ctx: 4096 } } }
        : { json: { data: [{ id: 'gemma.gguf', owned_by: 'llamacpp', meta: { n_params: 270_000_000 } }] } },
    )
    expect(await describeServer(openServer({ url }))).toEqual({
      kind: 'llama.cpp',
      places: 2,
      error: '',
      models: [{ id: 'gemma.gguf', does: 'chat', parameters: 270_000_000, contextWindow: 4096 }],
    })
  })

  test('states why there is no list', async () => {
    const { url } = await serve(() => ({ status: 401, json: { error: { message: 'no such key' } } }))
    expect(await describeServer(openServer({ url }))).toMatchObject({ models: [], error: 'no such key' })
  })
})

test('config lines name the variable of the key, never the key', async () => {
  const { url } = await serve(() => said('hello'))
  const address = { url, apiKey: 'sk-secret' }
  const probed = await probe({
    server: openServer(address),
    kind: null,
    model: { ...CHAT, contextWindow: 4096 },
    only: ['chat'],
  })
  const config = configFor(address, { kind: null, models: [], places: 3, error: '' }, [probed])!
  expect(config).toContain('${BACKEND_API_KEY}')
  expect(config).not.toContain('sk-secret')
  expect(config).toContain('contextWindow: 4096')
  expect(config).toContain('maxConcurrent: 3')
  expect(config).not.toContain('vendor:')
  expect(configFor(address, { kind: 'llama.cpp', models: [], places: 3, error: '' }, [probed])).toContain(
    'vendor: llama.cpp\n',
  )
})

describe('servers that somebody may want to use', () => {
  test('a local server is found by its own description, and any other is not', async () => {
    const listing = (owner: string) => serve(() => ({ json: { data: [{ id: 'm', owned_by: owner }] } }))
    const vllm = await listing('vllm')
    const gateway = await listing('svc')
    const closed = await serve(() => ({ status: 404 }))
    const ports = [vllm, gateway, closed].map(({ url }) => Number(new URL(url).port))
    const looking = { environment: {}, exceptPorts: [], ports }
    expect(await findServers(looking)).toEqual([{ name: 'vLLM', url: vllm.url, keyVariable: null }])
    expect(await findServers({ ...looking, exceptPorts: ports.slice(0, 1) })).toEqual([])
  })

  test('a key in the environment is named, not read out', async () => {
    const [found] = await findServers({ environment: { OPENAI_API_KEY: 'sk-secret' }, exceptPorts: [], ports: [] })
    const command = commandFor(found!, 'npm start --')
    expect(command).toBe('BACKEND_API_KEY=$OPENAI_API_KEY npm start -- --backend https://api.openai.com/v1')
    expect(JSON.stringify(found)).not.toContain('sk-secret')
  })
})

describe('a server that does not respond to a request in time', () => {
  const slowAt = (slow: (request: ReceivedRequest) => boolean) =>
    serve((request) => (slow(request) ? { silent: true } : request.body['tools'] ? callsTool() : said('Hello')))
  const hasTools = ({ body }: ReceivedRequest) => 'tools' in body
  const only = ['chat', 'tools', 'vision']

  test('has no verdict on it: nobody knows whether it can', async () => {
    const { url } = await slowAt(hasTools)
    const server = openServer({ url }, { timeoutMs: 200 })
    const { findings } = await probe({ server, kind: null, model: CHAT, only })
    expect(findings.find(({ check }) => check === 'tools')).toEqual({
      check: 'tools',
      result: 'no response',
      note: 'no response in 0.2 s',
    })
    expect(findings.find(({ check }) => check === 'vision')).toMatchObject({ result: 'no' })
  })

  test('keeps the capability that nobody has seen it lack', async () => {
    const { url } = await slowAt(hasTools)
    const server = openServer({ url }, { timeoutMs: 200 })
    const probed = await probe({ server, kind: null, model: CHAT, only })
    const description = { kind: null, models: [CHAT], places: null, error: '' }
    const config = configFor({ url }, description, [probed])
    expect(config).toContain('capabilities: [chat, tools]')
    expect(config).toContain('id: agent')
  })

  test('is served as any backend is, when its first response takes too long, and gets no further request', async () => {
    const { url, requests } = await slowAt(({ method }) => method === 'POST')
    const server = openServer({ url }, { timeoutMs: 200 })
    const probed = await probe({ server, kind: null, model: CHAT, only })
    expect(probed.findings).toEqual([{ check: 'chat', result: 'no response', note: 'no response in 0.2 s' }])
    expect(requests).toHaveLength(1)
    const config = configFor({ url }, { kind: null, models: [CHAT], places: null, error: '' }, [probed])
    expect(config).toContain('capabilities: [chat, tools]')
  })

  test('keeps its vectors', async () => {
    const { url } = await slowAt(({ path }) => path.endsWith('/embeddings'))
    const server = openServer({ url }, { timeoutMs: 200 })
    const { findings } = await probe({ server, kind: null, model: EMBEDDINGS, only: ['embeddings', '768 dimensions'] })
    expect(findings.map(({ result }) => result)).toEqual(['no response', 'no response'])
  })
})
