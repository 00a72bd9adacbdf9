/**
 * Anthropic's Messages API as people use it: the official SDK, unchanged but for the address and the key. It runs in
 * front of a backend that speaks it, of one that speaks chat alone, and of both.
 */

import Anthropic from '@anthropic-ai/sdk'
import { chargeFor } from '../packages/pricing/src/charge.ts'
import { type Backend, startBackend } from '@gateway/stand-ins/backend'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HttpBackend, openStream, sendJson, startHttpBackend } from '../services/router/test/http-backend.ts'
import { type GatewayWithoutStores, startGatewayWithoutStores } from './ways-in/gateway-without-stores.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const RATES = {
  inputUsdPerMillion: 3,
  cachedInputUsdPerMillion: 0.3,
  cacheWriteUsdPerMillion: 3.75,
  cacheWriteHourUsdPerMillion: 6,
  outputUsdPerMillion: 15,
}

const THOUGHT = { type: 'thinking', thinking: 'A cat?', signature: 'c2lnbmVk' }
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'the cat' }, caller: { type: 'direct' } }
const USAGE = {
  input_tokens: 100,
  cache_read_input_tokens: 1_000,
  cache_creation_input_tokens: 500,
  cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 200 },
  output_tokens: 40,
}
const NAMED = { id: 'msg_native', type: 'message', role: 'assistant', model: 'claude-native', stop_sequence: null }

const stack = new AsyncDisposableStack()
let native: HttpBackend
let chat: Backend
let gateway: GatewayWithoutStores
/** The status with which the native backend refuses everything, once set. */
let trouble: number | null = null

beforeAll(async () => {
  native = stack.use(
    await startHttpBackend((response, { path, headers, body }) => {
      if (trouble !== null)
        return sendJson(response, trouble, {
          type: 'error',
          error: { type: 'overloaded_error', message: 'Overloaded' },
        })
      if (
        path !== '/v1/messages' ||
        headers['anthropic-version'] === undefined ||
        headers['x-api-key'] !== 'vendors-key'
      )
        return sendJson(response, 404, { type: 'error', error: { type: 'not_found_error', message: path } })
      const content = [THOUGHT, { type: 'text', text: 'I look.' }, CALL]
      if (body['stream'] !== true)
        return sendJson(response, 200, { ...NAMED, content, stop_reason: 'tool_use', usage: USAGE })
      openStream(response)
      return response.end(eventsOf())
    }),
  )
  chat = stack.use(await startBackend())
  gateway = stack.use(await startGatewayWithoutStores(config()))
})
afterAll(() => stack.disposeAsync())

function eventsOf(): string {
  const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
  const block = (index: number, start: object, ...deltas: object[]) =>
    event('content_block_start', { index, content_block: start }) +
    deltas.map((delta) => event('content_block_delta', { index, delta })).join('') +
    event('content_block_stop', { index })
  return [
    event('message_start', {
      message: { ...NAMED, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } },
    }),
    event('ping', {}),
    block(
      0,
      { ...THOUGHT, thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'A cat?' },
      { type: 'signature_delta', signature: 'c2lnbmVk' },
    ),
    block(1, { type: 'text', text: '' }, { type: 'text_delta', text: 'I look.' }),
    block(2, { ...CALL, input: {} }, { type: 'input_json_delta', partial_json: '{"at":"the cat"}' }),
    event('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 40 } }),
    event('message_stop', {}),
  ].join('')
}

function config(): object {
  const backends = [
    {
      id: 'native',
      vendor: 'anthropic',
      url: native.url,
      apiKey: 'vendors-key',
      capabilities: ['chat', 'tools', 'vision'],
    },
    { id: 'chat', url: chat.url, capabilities: ['chat', 'tools', 'vision'] },
  ]
  const target = (backend: string) => ({ backend, model: `of-${backend}` })
  return {
    backends,
    pools: [
      { id: 'native', targets: [target('native')] },
      { id: 'chat', targets: [target('chat')] },
      { id: 'both', targets: [target('chat'), target('native')] },
    ],
    models: [
      { id: 'claude-native', type: 'chat', pool: 'native', direct: true, availability: 'paid', rates: RATES },
      { id: 'open', type: 'chat', pool: 'chat', multiplier: 1, maxOutputTokens: 1_000, aliases: ['claude-sonnet-4-6'] },
      { id: 'either', type: 'chat', pool: 'both', multiplier: 1, maxOutputTokens: 1_000 },
    ],
    plans: [
      { slug: 'guest-device', limit: 1e9, rpm: 1_000, tpm: 1e9, perDay: 1_000, guest: true },
      { slug: 'team', unit: 'usd', limit: 1e6, rpm: 10_000, tpm: 1e9, paid: true, payAsYouGo: true, default: true },
    ],
  }
}

/** The official client, and the reports of its requests. */
function newClient() {
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, authToken: null, maxRetries: 0 })
  const before = gateway.reports.length
  return { client, reports: () => gateway.reports.slice(before) }
}

const TOOL: Anthropic.Tool = {
  name: 'look',
  description: 'Looks',
  input_schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
}
const question: Anthropic.MessageParam = {
  role: 'user',
  content: [
    { type: 'text', text: 'What is this?', cache_control: { type: 'ephemeral', ttl: '1h' } },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
  ],
}

test('a backend that speaks it gets the request as it is, and its cache is charged by kind', async () => {
  const { client, reports } = newClient()
  const requested = {
    max_tokens: 2_000,
    thinking: { type: 'enabled' as const, budget_tokens: 1_024 },
    tools: [TOOL, { type: 'bash_20250124' as const, name: 'bash' as const }],
    messages: [question],
  }
  const headers = { 'anthropic-beta': 'context-1m-2025-08-07' }
  const plain = await client.messages.create({ model: 'claude-native', ...requested }, { headers })
  const streamed = await client.messages.stream({ model: 'claude-native', ...requested }, { headers }).finalMessage()

  expect(plain).toMatchObject({ ...NAMED, content: [THOUGHT, { text: 'I look.' }, CALL], usage: USAGE })
  expect(streamed).toMatchObject({ ...NAMED, content: [THOUGHT, { text: 'I look.' }, CALL], usage: USAGE })
  for (const { body, headers: sent } of native.seen.slice(-2)) {
    const { model, stream: _, ...rest } = body
    expect([model, rest]).toEqual(['of-native', requested])
    expect(sent).toMatchObject({ 'anthropic-version': '2026-10-21', 'anthropic-beta': 'context-1m-2025-08-07' })
  }
  const dollars = (100 * 3 + 1_000 * 0.3 + 300 * 3.75 + 200 * 6 + 40 * 15) / 1e6
  expect(reports().map(({ price, usage }) => [usage.promptTokens, chargeFor(price, usage)])).toEqual([
    [1_600, dollars * 1e9],
    [1_600, dollars * 1e9],
  ])
})

test('a backend that speaks chat serves the same client: tools, images, thoughts, under a name that a tool insists on', async () => {
  const { client, reports } = newClient()
  const model = 'claude-sonnet-4-6'
  const { data: plain, response } = await client.messages
    .create({ model, max_tokens: 500, tools: [TOOL], tool_choice: { type: 'any' }, messages: [question] })
    .withResponse()
  expect(response.headers.get('x-svc-dropped-params')).toBe('cache_control')
  const call = plain.content.find((block) => block.type === 'tool_use')!
  expect(call).toMatchObject({ name: 'look', input: expect.any(Object), id: expect.any(String) })
  expect(plain.stop_reason).toBe('tool_use')

  const stream = client.messages.stream({
    model,
    max_tokens: 500,
    system: [{ type: 'text', text: 'Be brief.' }],
    tools: [TOOL],
    messages: [
      question,
      { role: 'assistant', content: plain.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'a cat' }] },
    ],
  })
  const words: string[] = []
  stream.on('text', (delta) => words.push(delta))
  const final = await stream.finalMessage()
  expect(final).toMatchObject({ role: 'assistant', stop_reason: 'end_turn' })
  expect(words.length).toBeGreaterThan(1)
  const body = chat.calls.at(-1)!.body as { messages: { role: string }[] }
  expect(body.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool'])

  const tokens = [plain, final].reduce(
    (sum, { usage: of }) => sum + of.input_tokens + of.cache_read_input_tokens! + of.output_tokens,
    0,
  )
  const reported = reports().reduce((sum, { usage }) => sum + usage.promptTokens + usage.completionTokens, 0)
  expect([reports().length, reported]).toEqual([2, tokens])
})

test('the backend that speaks it is preferred, and the other one takes over unnoticed', async () => {
  const { client, reports } = newClient()
  const sendRequest = () =>
    client.messages.stream({ model: 'either', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] })
  for (let i = 0; i < 3; i++) expect(await sendRequest().finalMessage()).toMatchObject({ id: 'msg_native' })
  trouble = 529
  try {
    const message = await sendRequest().finalMessage()
    expect(message.model).toBe('of-chat')
    expect(message.content[0]).toMatchObject({ type: 'text', text: expect.stringMatching(/./) })
  } finally {
    trouble = null
  }
  expect(reports().map(({ backend }) => backend)).toEqual(['native', 'native', 'native', 'chat'])
})

test('errors are of the SDK’s own classes, and name the field', async () => {
  const { client } = newClient()
  const sendRequest = (request: object, asking = client) =>
    asking.messages.create({
      model: 'open',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'Hi' }],
      ...request,
    } as never)
  const wrongKey = new Anthropic({ baseURL: gateway.url, apiKey: 'svc_wrong', authToken: null, maxRetries: 0 })
  await expect(sendRequest({}, wrongKey)).rejects.toBeInstanceOf(Anthropic.AuthenticationError)
  await expect(sendRequest({ messages: [] })).rejects.toMatchObject({ status: 400, type: 'invalid_request_error' })
  await expect(sendRequest({ model: 'unknown' })).rejects.toBeInstanceOf(Anthropic.NotFoundError)
  const upload = { role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }
  await expect(sendRequest({ messages: [upload] })).rejects.toThrow('messages[0].content[0].type')
  trouble = 400
  try {
    await expect(sendRequest({ model: 'claude-native' })).rejects.toThrow('Overloaded')
  } finally {
    trouble = null
  }
})
