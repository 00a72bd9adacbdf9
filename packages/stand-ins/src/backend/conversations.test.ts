import { faultsIn, openResponse, streamFaults } from '@gateway/testing/open-responses'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Backend, startBackend } from '../backend.ts'

let backend: Backend
let client: OpenAI
beforeAll(async () => {
  backend = await startBackend({ dialects: ['responses', 'messages'] })
  client = new OpenAI({ baseURL: backend.url, apiKey: 'any', maxRetries: 0 })
})
afterAll(() => backend[Symbol.asyncDispose]())

const TOOL = {
  type: 'function' as const,
  name: 'get_weather',
  description: null,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
}
const WEATHER = 'What is the weather in Paris?'

async function post(path: string, body: object): Promise<{ status: number; text: string }> {
  const response = await fetch(backend.url + path, { method: 'POST', body: JSON.stringify({ model: 'sim', ...body }) })
  return { status: response.status, text: await response.text() }
}

interface PlainMessage {
  content: { type: string; text?: string }[]
  stop_reason: string
}

interface MessageEvent {
  type: string
  content_block: { type: string }
  delta?: { text?: string }
}

function eventsIn(text: string): { name: string; data: string }[] {
  return [...text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, name, data]) => ({ name: name!, data: data! }))
}

describe('a backend of the Responses API', () => {
  test.each([
    ['a text', { input: 'Say: hello' }],
    ['thoughts and a text', { model: 'sim-reasoning', input: 'Say: hello' }],
    ['a call', { input: WEATHER, tools: [TOOL] }],
    ['a cut text', { input: '90 words', max_output_tokens: 16 }],
  ])('responds with %s as Open Responses describes it, plain and streamed', async (_, body) => {
    const plain = await post('/responses', body)
    expect(faultsIn('plain', openResponse, JSON.parse(plain.text))).toEqual([])
    const { text } = await post('/responses', { ...body, stream: true })
    expect(streamFaults(eventsIn(text))).toEqual([])
  })

  test('is read by the official client, with a call and its result', async () => {
    const request = { model: 'sim', tools: [TOOL] }
    const first = await client.responses.stream({ ...request, input: WEATHER }).finalResponse()
    const [call] = first.output as OpenAI.Responses.ResponseFunctionToolCall[]
    expect(call).toMatchObject({ type: 'function_call', name: 'get_weather', arguments: '{"city":"Paris"}' })
    const result = { type: 'function_call_output' as const, call_id: call!.call_id, output: '21 degrees' }
    const input = [{ role: 'user' as const, content: WEATHER }, call!, result]
    expect((await client.responses.create({ ...request, input })).output_text).toContain('21 degrees')
  })

  test('refuses a result without its call, and a compaction of another server', async () => {
    const result = { type: 'function_call_output', call_id: 'c', output: 'x' }
    const compaction = { type: 'compaction', encrypted_content: 'bm8=' }
    for (const item of [result, compaction]) {
      expect((await post('/responses', { input: [{ role: 'user', content: 'x' }, item] })).status).toBe(400)
    }
  })

  test('compacts a conversation into one item, which it takes back', async () => {
    const input = [{ role: 'user' as const, content: 'Remember: blue' }]
    const { output, usage } = await client.responses.compact({ model: 'sim', input })
    expect(output.map(({ type }) => type)).toEqual(['compaction'])
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens)
    const next = await client.responses.create({ model: 'sim', input: [...output, ...input] as typeof input })
    expect(next.status).toBe('completed')
    expect((await post('/responses/compact', { model: null, input })).status).toBe(400)
  })
})

describe('a backend of the Messages API', () => {
  const messages = [{ role: 'user', content: WEATHER }]

  test('streams the blocks of its plain response', async () => {
    const tools = [{ name: TOOL.name, input_schema: TOOL.parameters }]
    for (const request of [
      { max_tokens: 900, messages, model: 'sim-reasoning', thinking: { type: 'enabled', budget_tokens: 200 } },
      { max_tokens: 900, messages, tools },
    ]) {
      const plain = JSON.parse((await post('/messages', request)).text) as PlainMessage
      const { text } = await post('/messages', { ...request, stream: true })
      const events = eventsIn(text).map(({ data }) => JSON.parse(data) as MessageEvent)
      expect([events[0]!.type, events.at(-1)!.type]).toEqual(['message_start', 'message_stop'])
      const starts = events.filter(({ type }) => type === 'content_block_start')
      expect(starts.map(({ content_block: block }) => block.type)).toEqual(plain.content.map(({ type }) => type))
      const said = events.map(({ delta }) => delta?.text ?? '').join('')
      const complete = plain.content.map(({ text: piece }) => piece ?? '').join('')
      expect(said).toBe(complete)
      const ended = events.find(({ type }) => type === 'message_delta')!
      expect(ended.delta).toMatchObject({ stop_reason: plain.stop_reason })
    }
  })

  test('demands a cap', async () => {
    expect((await post('/messages', { messages })).status).toBe(400)
  })
})

test('a backend without another API has chat completions alone', async () => {
  await using plain = await startBackend()
  const response = await fetch(`${plain.url}/responses`, { method: 'POST', body: '{}' })
  expect(response.status).toBe(404)
})
