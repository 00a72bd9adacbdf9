/**
 * Compaction through a whole gateway, by the official client: in front of backends of chat, Messages and OpenAI. Two edges
 * and two routers share the secrets that seal.
 */

import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type HttpBackend, type Reply, sendJson, startHttpBackend } from '../services/router/test/http-backend.ts'
import { send } from './promises/gateway.ts'
import { type GatewayWithoutStores, startGatewayWithoutStores } from './ways-in/gateway-without-stores.ts'

const SUMMARY = 'Ship on Tuesday; support hears of it first.'
const stack = new AsyncDisposableStack()
let chat: HttpBackend
let messages: HttpBackend
let openai: HttpBackend
let gateway: GatewayWithoutStores
let client: OpenAI

const chatReply: Reply = (response, { body }) => {
  const usage = { prompt_tokens: 90, completion_tokens: 11, total_tokens: 101 }
  const named = { id: 'chatcmpl-1', created: 1, model: 'open' }
  if (body['stream'] !== true) {
    const message = { role: 'assistant', content: SUMMARY }
    return sendJson(response, 200, {
      ...named,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    })
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const chunks = [
    { choices: [{ index: 0, delta: { role: 'assistant', content: SUMMARY.slice(0, 9) }, finish_reason: null }] },
    { choices: [{ index: 0, delta: { content: SUMMARY.slice(9) }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage },
  ]
  for (const chunk of chunks)
    response.write(`data: ${JSON.stringify({ ...named, object: 'chat.completion.chunk', ...chunk })}\n\n`)
  return response.end('data: [DONE]\n\n')
}

const messagesReply: Reply = (response) =>
  sendJson(response, 200, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [{ type: 'text', text: SUMMARY }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 70, output_tokens: 12 },
  })

const VENDORS_ITEM = { id: 'cmp_vendor', type: 'compaction', encrypted_content: 'gAAAAABvendor' }
const openaiReply: Reply = (response, { path }) => {
  const usage = { input_tokens: 50, output_tokens: 8, total_tokens: 58 }
  const isCompact = path.endsWith('/responses/compact')
  const output = isCompact
    ? [VENDORS_ITEM]
    : [
        {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
        },
      ]
  const named = isCompact
    ? { object: 'response.compaction' }
    : { object: 'response', status: 'completed', model: 'gpt' }
  return sendJson(response, 200, { id: 'resp_vendor', created_at: 1, ...named, output, usage })
}

const configOver = (urls: Record<'chat' | 'messages' | 'openai', string>) => ({
  backends: [
    { id: 'chat', url: urls.chat, capabilities: ['chat', 'tools', 'vision'] },
    { id: 'messages', url: urls.messages, dialect: 'anthropic', capabilities: ['chat', 'tools', 'vision'] },
    { id: 'openai', url: urls.openai, vendor: 'openai', apiKey: 'k', capabilities: ['chat', 'tools', 'vision'] },
  ],
  pools: [
    ...['chat', 'messages', 'openai'].map((id) => ({ id, targets: [{ backend: id, model: `${id}-model` }] })),
    {
      id: 'mixed',
      targets: [
        { backend: 'chat', model: 'chat-model', priority: 1 },
        { backend: 'openai', model: 'openai-model', priority: 2 },
      ],
    },
  ],
  models: ['chat', 'messages', 'openai', 'mixed'].map((id) => ({
    id: `svc-${id}`,
    type: 'chat',
    pool: id,
    multiplier: 1,
    maxOutputTokens: 4_000,
  })),
  plans: [
    { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
    { slug: 'team', limit: 1e12, rpm: 1_000_000, tpm: 1e9, paid: true, default: true },
  ],
})

beforeAll(async () => {
  chat = stack.use(await startHttpBackend(chatReply))
  messages = stack.use(await startHttpBackend(messagesReply))
  openai = stack.use(await startHttpBackend(openaiReply))
  gateway = stack.use(
    await startGatewayWithoutStores(configOver({ chat: chat.url, messages: messages.url, openai: openai.url })),
  )
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
})
afterAll(() => stack.disposeAsync())
beforeEach(() => {
  chat.reply = chatReply
  messages.reply = messagesReply
  for (const { seen } of [chat, messages, openai]) seen.length = 0
  gateway.reports.length = 0
})

type Input = OpenAI.Responses.ResponseInput
const CONVERSATION: Input = [
  { role: 'user', content: 'When do we ship?' },
  { type: 'function_call', call_id: 'c1', name: 'calendar', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: 'Tuesday' },
  { role: 'assistant', content: 'On Tuesday.' },
]
const metered = () => gateway.reports.map(({ usage }) => [usage.promptTokens, usage.completionTokens])
const sentTo = ({ seen }: HttpBackend) => seen.map(({ text }) => text)

const other = () => new OpenAI({ baseURL: `${gateway.otherUrl}/v1`, apiKey: gateway.key, maxRetries: 0 })

describe.each([
  ['svc-chat', [90, 11]],
  ['svc-messages', [70, 12]],
])('in front of %s', (model, figures) => {
  test('the client compacts, and each next turn has the summary, on another edge and in front of every dialect', async () => {
    const compacted = await client.responses.compact({ model, input: CONVERSATION })
    expect(compacted).toMatchObject({
      object: 'response.compaction',
      output: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'When do we ship?' }] },
        { type: 'compaction', encrypted_content: expect.stringMatching(/^svc1\./) as string },
      ],
      usage: { input_tokens: figures[0], output_tokens: figures[1], total_tokens: figures[0]! + figures[1]! },
    })
    await expect.poll(metered).toEqual([figures])
    expect(gateway.reports[0]).toMatchObject({
      compaction: 'endpoint',
      modelAsked: model,
      lane: model,
      outcome: 'completed',
      delivered: true,
    })

    const input: Input = [...(compacted.output as Input), { role: 'user', content: 'And the docs?' }]
    for (const next of ['svc-chat', 'svc-messages', 'svc-openai']) {
      for (const { seen } of [chat, messages, openai]) seen.length = 0
      await other().responses.create({ model: next, input })
      const [sent, ...more] = [chat, messages, openai].flatMap(sentTo)
      expect(more).toEqual([])
      expect(sent!.split(SUMMARY)).toHaveLength(2)
      expect(sent).not.toContain('svc1.')
      expect(sent).toMatch(/When do we ship\?.*Ship on Tuesday.*And the docs\?/s)
    }
  })
})

test('OpenAI compacts by itself: its own item comes back, and goes to it again', async () => {
  const compacted = await client.responses.compact({ model: 'svc-openai', input: CONVERSATION, prompt_cache_key: 'k' })
  expect(compacted).toMatchObject({ id: 'resp_vendor', output: [VENDORS_ITEM] })
  expect(openai.seen).toMatchObject([{ path: '/v1/responses/compact' }])
  expect(JSON.parse(openai.seen[0]!.text)).toEqual({
    model: 'openai-model',
    input: CONVERSATION,
    prompt_cache_key: 'k',
  })
  await expect.poll(metered).toEqual([[50, 8]])
  await client.responses.create({
    model: 'svc-openai',
    input: [...(compacted.output as Input), { role: 'user', content: 'x' }],
  })
  expect(openai.seen[1]!.body).toMatchObject({ input: [VENDORS_ITEM, { role: 'user', content: 'x' }] })
})

test('a vendor’s own item is a 400 in front of another model, and goes to the target of a pool that reads it', async () => {
  const input = [VENDORS_ITEM, { role: 'user', content: 'x' }] as Input
  const body = { model: 'svc-chat', input }
  const refused = await send(gateway.url, '/v1/responses', { key: gateway.key, body })
  expect(refused.status).toBe(400)
  expect(JSON.stringify(refused.body)).toContain('input[0].encrypted_content')
  const { output_text: text } = await client.responses.create({ model: 'svc-mixed', input })
  expect([text, chat.seen.length, openai.seen.length]).toEqual(['Hi', 0, 1])
})

test.each([true, false])('a trigger gets one compaction item, as Codex reads it (stream: %s)', async (stream) => {
  const input = [...CONVERSATION, { type: 'compaction_trigger' }] as Input
  const tools = [{ type: 'function' as const, name: 'calendar', parameters: { type: 'object' }, strict: false }]
  const request = { model: 'svc-chat', input, tools, tool_choice: 'auto' as const }
  const response = stream
    ? await client.responses.stream(request).finalResponse()
    : await client.responses.create(request)
  expect(response.output).toMatchObject([
    { type: 'compaction', encrypted_content: expect.stringMatching(/^svc1\./) as string },
  ])
  expect(response).toMatchObject({
    status: 'completed',
    tool_choice: 'auto',
    usage: { input_tokens: 90, output_tokens: 11 },
  })
  expect(chat.seen[0]!.body).toMatchObject({ tool_choice: 'none' })
  await expect.poll(metered).toEqual([[90, 11]])
  expect(gateway.reports[0]).toMatchObject({ compaction: 'trigger', streamed: stream })
})

test('the same compaction under an Idempotency-Key runs once, is charged once, and is no other request', async () => {
  const body = { model: 'svc-chat', input: CONVERSATION }
  const headers = { 'idempotency-key': crypto.randomUUID() }
  const request = (url: string, path: string) => send(url, path, { key: gateway.key, body, headers })
  const first = await request(gateway.url, '/v1/responses/compact')
  const again = await request(gateway.otherUrl, '/v1/responses/compact')
  expect(again.body).toEqual(first.body)
  expect(chat.seen).toHaveLength(1)
  await expect.poll(metered).toEqual([[90, 11]])
  expect(await request(gateway.url, '/v1/responses')).toMatchObject({ status: 400 })
})

test('an altered item is a 400 that names it', async () => {
  const { output } = await client.responses.compact({ model: 'svc-chat', input: CONVERSATION })
  const item = output.at(-1) as { encrypted_content: string }
  const at = item.encrypted_content.length - 3
  const altered =
    item.encrypted_content.slice(0, at) +
    (item.encrypted_content[at] === 'A' ? 'B' : 'A') +
    item.encrypted_content.slice(at + 1)
  const body = {
    model: 'svc-messages',
    input: [
      { ...item, encrypted_content: altered },
      { role: 'user', content: 'x' },
    ],
  }
  const reply = await send(gateway.url, '/v1/responses', { key: gateway.key, body })
  expect(reply.status).toBe(400)
  expect(JSON.stringify(reply.body)).toContain('input[0].encrypted_content')
  expect(messages.seen).toEqual([])
})

test('a model that writes no summary is a 503, charged to nobody', async () => {
  chat.reply = (response) =>
    sendJson(response, 200, {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'open',
      choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 90, completion_tokens: 1, total_tokens: 91 },
    })
  for (const [path, input] of [
    ['/v1/responses/compact', CONVERSATION],
    ['/v1/responses', [...CONVERSATION, { type: 'compaction_trigger' }]],
  ]) {
    const reply = await send(gateway.url, path as string, { key: gateway.key, body: { model: 'svc-chat', input } })
    expect(reply).toMatchObject({ status: 503, body: { error: { code: 'UPSTREAMS_EXHAUSTED' } } })
  }
  expect(gateway.reports).toEqual([])
})

test.each([
  ['a model', { input: CONVERSATION }],
  ['a conversation', { model: 'svc-chat' }],
])('without %s the request is refused', async (_, body) => {
  expect(await send(gateway.url, '/v1/responses/compact', { key: gateway.key, body })).toMatchObject({ status: 400 })
})

test('another method is a 405', async () => {
  const { status, headers } = await send(gateway.url, '/v1/responses/compact', { method: 'GET', key: gateway.key })
  expect([status, headers.get('allow')]).toEqual([405, 'POST'])
})

test('a router that is lost while it compacts costs its clients time alone, and each pays once', async () => {
  const gate = Promise.withResolvers<void>()
  chat.reply = async (...args) => {
    await gate.promise
    return chatReply(...args)
  }
  const trigger = { type: 'compaction_trigger' } as unknown as Input[number]
  const running = Array.from({ length: 8 }, (_, at) =>
    at % 2 === 0
      ? client.responses.compact({ model: 'svc-chat', input: CONVERSATION })
      : client.responses.stream({ model: 'svc-chat', input: [...CONVERSATION, trigger] }).finalResponse(),
  )
  await expect.poll(() => chat.seen.length, { timeout: 20_000 }).toBe(8)
  gateway.loseRouter()
  await expect.poll(() => chat.seen.length, { timeout: 20_000 }).toBeGreaterThan(8)
  gate.resolve()
  for (const { output } of await Promise.all(running))
    expect(output.filter(({ type }) => type === 'compaction')).toHaveLength(1)
  await expect.poll(metered).toEqual(Array.from({ length: 8 }, () => [90, 11]))
})
