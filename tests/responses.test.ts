/**
 * The Responses API through a whole gateway, called by the official client, in front of a strict backend of chat.
 */

import { streamFaults } from '@gateway/testing/open-responses'
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as z from 'zod'
import { type ScriptedBackend, startScriptedBackend } from './coding-tools/scripted-backend.ts'
import { configOver, MODEL } from './coding-tools/workshop.ts'
import { send } from './promises/gateway.ts'
import { type GatewayWithoutStores, startGatewayWithoutStores } from './ways-in/gateway-without-stores.ts'

const stack = new AsyncDisposableStack()
let backend: ScriptedBackend
let gateway: GatewayWithoutStores
let client: OpenAI
beforeAll(async () => {
  backend = stack.use(await startScriptedBackend())
  gateway = stack.use(await startGatewayWithoutStores(configOver(backend.url)))
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
})
afterAll(() => stack.disposeAsync())

interface StreamEvent {
  type: string
  sequence_number: number
  response?: object
}

const WEATHER = {
  type: 'function' as const,
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
}

test('the client accumulates a stream with thoughts, a text and a call, and the turn after its result', async () => {
  backend.script = [
    { thought: 'Which city?', text: 'Let me look.', calls: [{ name: 'get_weather', args: { city: 'Lisbon' } }] },
    { text: 'It is sunny.' },
  ]
  const reasoning = { effort: 'low', summary: 'auto' } as const
  const requested = { model: MODEL, tools: [WEATHER], reasoning }
  const question: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'How is it in Lisbon?' }]
  const stream = client.responses.stream({ ...requested, input: question })
  const types: string[] = []
  stream.on('event', ({ type }) => types.push(type))
  const first = await stream.finalResponse()
  expect(first).toMatchObject({ status: 'completed', output_text: 'Let me look.', store: false })
  expect(first.output).toMatchObject([
    { type: 'reasoning', summary: [{ text: 'Which city?' }] },
    { type: 'message' },
    { type: 'function_call', name: 'get_weather', arguments: '{"city":"Lisbon"}' },
  ])
  expect(types.at(-1)).toBe('response.completed')

  const call = first.output[2] as OpenAI.Responses.ResponseFunctionToolCall
  const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'sunny' }
  const said = first.output as OpenAI.Responses.ResponseInput
  const second = await client.responses.create({ ...requested, input: [...question, ...said, result] })
  expect(second.output_text).toBe('It is sunny.')
  expect(second.usage).toMatchObject({ input_tokens: 117, output_tokens: 13, total_tokens: 130 })
  const { messages, reasoning_effort: effort } = backend.seen.at(-1)!.body
  expect(effort).toBe('low')
  expect(messages).toMatchObject([
    { role: 'user' },
    {
      role: 'assistant',
      content: 'Let me look.',
      reasoning_content: 'Which city?',
      tool_calls: [{ id: call.call_id }],
    },
    { role: 'tool', tool_call_id: call.call_id, content: 'sunny' },
  ])
  const metered = () => gateway.reports.map(({ usage }) => [usage.promptTokens, usage.completionTokens])
  await expect.poll(metered).toEqual([
    [100, 10],
    [117, 13],
  ])
})

test('structured output is parsed', async () => {
  backend.script = [{ text: '{"city":"Paris"}' }]
  const format = zodTextFormat(z.object({ city: z.string() }), 'city')
  const parsed = await client.responses.parse({ model: MODEL, input: 'Capital?', text: { format } })
  expect(parsed.output_parsed).toEqual({ city: 'Paris' })
  expect(backend.seen.at(-1)!.body.response_format).toMatchObject({ type: 'json_schema' })
})

test("a coding tool's instructions and tools are whole in each response of a stream, for all who share it", async () => {
  backend.script = [{ thought: 'Hm.', text: 'Done.' }]
  const tools = Array.from({ length: 60 }, (_, at) => ({
    ...WEATHER,
    name: `tool_${at}`,
    description: 'é'.repeat(400),
  }))
  const request = { instructions: '"Be\n brief." '.repeat(3_000), tools }
  const body = JSON.stringify({ model: MODEL, stream: true, ...request, input: 'Hi', metadata: { last: 'one' } })
  const headers = {
    authorization: `Bearer ${gateway.key}`,
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
  }
  const sendRequest = async (url: string) =>
    (await fetch(`${url}/v1/responses`, { method: 'POST', headers, body })).text()

  const [reported, ...others] = await Promise.all([gateway.url, gateway.url, gateway.otherUrl].map(sendRequest))
  others.push(await sendRequest(gateway.otherUrl))
  for (const other of others) expect(other).toBe(reported)
  const lines = [...reported!.matchAll(/^data: (.*)$/gm)].map(([, data]) => data!)
  expect(lines.at(-1)).toBe('[DONE]')
  const named = [...reported!.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, name, data]) => ({
    name: name!,
    data: data!,
  }))
  expect(streamFaults(named)).toEqual([])
  const events = lines.slice(0, -1).map((data) => JSON.parse(data) as StreamEvent)
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at))
  const responses = events.filter(({ response }) => response)
  expect(responses.map(({ type }) => type)).toEqual(['response.created', 'response.in_progress', 'response.completed'])
  for (const { response } of responses) expect(response).toMatchObject({ ...request, metadata: { last: 'one' } })
  expect(backend.seen.at(-1)!.body.tools).toHaveLength(tools.length)
})

test('a hosted tool that nobody demands is left out and reported', async () => {
  backend.script = [{ text: 'Hi' }]
  const body = { model: MODEL, input: 'Hi', tools: [{ type: 'web_search' }], store: true }
  const { status, headers, body: reply } = await send(gateway.url, '/v1/responses', { key: gateway.key, body })
  expect([status, headers.get('x-svc-dropped-params'), reply['store']]).toEqual([200, 'tools.web_search', false])
})

test.each([
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: 'conv_1' }],
  ['background', { background: true }],
  ['tool_choice', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }],
])('%s is refused: the error names it', async (field, rest) => {
  const body = { model: MODEL, input: 'Hi', ...rest }
  const reply = await send(gateway.url, '/v1/responses', { key: gateway.key, body })
  expect(reply.status).toBe(400)
  expect(reply.body['error']).toMatchObject({ message: expect.stringContaining(field) as string })
})
