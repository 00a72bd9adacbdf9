import { inflateSync } from 'node:zlib'
import OpenAI, { type APIError, BadRequestError } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Backend, startBackend } from './backend.ts'
import { countTokens } from './backend/tokens.ts'

let backend: Backend
let client: OpenAI

beforeAll(async () => {
  backend = await startBackend()
  client = new OpenAI({ baseURL: backend.url, apiKey: 'unused', maxRetries: 0 })
})
afterAll(() => backend[Symbol.asyncDispose]())
beforeEach(() => backend.forget())

const userMessages = (content: string) => [{ role: 'user' as const, content }]

async function collect(stream: AsyncIterable<OpenAI.ChatCompletionChunk>) {
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
  return { chunks, text, usage: chunks.at(-1)?.usage ?? null }
}

describe('chat', () => {
  test('says that it is simulated and quotes the prompt', async () => {
    const reply = await client.chat.completions.create({ model: 'sim', messages: userMessages('Why is the sky blue?') })
    expect(reply).toMatchObject({ object: 'chat.completion', model: 'sim' })
    expect(reply.choices).toHaveLength(1)
    expect(reply.choices[0]).toMatchObject({ index: 0, finish_reason: 'stop', message: { role: 'assistant' } })
    expect(reply.choices[0]!.message.content).toMatch(/simulated backend.*Why is the sky blue\?/)
  })

  test('a stream carries the same text and the same usage as the plain response', async () => {
    const messages = userMessages('Say: Grüße aus Köln 🎉, twice!')
    const plain = await client.chat.completions.create({ model: 'sim', messages })
    const streamed = await collect(
      await client.chat.completions.create({
        model: 'sim',
        messages,
        stream: true,
        stream_options: { include_usage: true },
      }),
    )
    expect(streamed.text).toBe(plain.choices[0]!.message.content)
    expect(streamed.usage).toEqual(plain.usage)
    expect(plain.usage!.completion_tokens).toBe(countTokens(streamed.text))
    expect(plain.usage!.total_tokens).toBe(plain.usage!.prompt_tokens + plain.usage!.completion_tokens)
  })

  test('a stream is a role, deltas, a finish reason, usage when requested, and [DONE]', async () => {
    const request = { model: 'sim', messages: userMessages('Say: one two'), stream: true }
    const events = async (body: object) => {
      const response = await fetch(`${backend.url}/chat/completions`, { method: 'POST', body: JSON.stringify(body) })
      expect(response.headers.get('content-type')).toMatch('text/event-stream')
      return (await response.text()).trim().split('\n\n')
    }
    const plain = await events(request)
    expect(plain.at(-1)).toBe('data: [DONE]')
    const parsed = plain.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)))
    expect(parsed.map((chunk) => chunk.choices[0].delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: 'one' },
      { content: ' two' },
      {},
    ])
    expect(parsed.map((chunk) => chunk.choices[0].finish_reason)).toEqual([null, null, null, 'stop'])
    expect(parsed.every((chunk) => !('usage' in chunk))).toBe(true)

    const withUsage = await events({ ...request, stream_options: { include_usage: true } })
    expect(withUsage).toHaveLength(plain.length + 1)
    expect(JSON.parse(withUsage.at(-2)!.slice('data: '.length))).toMatchObject({
      choices: [],
      usage: { completion_tokens: 2 },
    })
  })

  test('max_tokens cuts the response and says so', async () => {
    const reply = await client.chat.completions.create({
      model: 'sim',
      messages: userMessages('300 words'),
      max_tokens: 7,
    })
    expect(reply.choices[0]!.finish_reason).toBe('length')
    expect(reply.usage!.completion_tokens).toBe(7)
  })

  test('a stop sequence ends the response before it', async () => {
    const messages = userMessages('Say: alpha beta gamma')
    const reply = await client.chat.completions.create({ model: 'sim', messages, stop: ['gamma', ' beta'] })
    expect(reply.choices[0]).toMatchObject({ message: { content: 'alpha' }, finish_reason: 'stop' })
  })

  test('n choices come in one response and interleave in a stream', async () => {
    const request = { model: 'sim', messages: userMessages('Say: hello there'), n: 3 }
    const plain = await client.chat.completions.create(request)
    expect(plain.choices.map((choice) => choice.index)).toEqual([0, 1, 2])
    const { chunks } = await collect(await client.chat.completions.create({ ...request, stream: true }))
    expect(chunks.slice(0, 3).map((chunk) => chunk.choices[0]!.index)).toEqual([0, 1, 2])
    const last = chunks.filter((chunk) => chunk.choices[0]!.index === 2)
    expect(last.map((chunk) => chunk.choices[0]!.delta.content ?? '').join('')).toBe(plain.choices[2]!.message.content)
  })

  test('images in a message are accepted and counted', async () => {
    const content = [
      { type: 'text' as const, text: 'What is in this picture?' },
      { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    ]
    const seen = await client.chat.completions.create({ model: 'sim', messages: [{ role: 'user', content }] })
    const unseen = await client.chat.completions.create({
      model: 'sim',
      messages: userMessages('What is in this picture?'),
    })
    expect(seen.choices[0]!.message.content).toContain('1 image.')
    expect(seen.usage!.prompt_tokens).toBe(unseen.usage!.prompt_tokens + 85)
  })

  test('earlier turns of a conversation are cached prompt tokens', async () => {
    const messages = [
      ...userMessages('Hello'),
      { role: 'assistant' as const, content: 'Hi' },
      ...userMessages('And again'),
    ]
    const { usage } = await client.chat.completions.create({ model: 'sim', messages })
    expect(usage!.prompt_tokens_details!.cached_tokens).toBe(3 + 4 + 1 + 4 + 1)
    expect(usage!.prompt_tokens).toBeGreaterThan(usage!.prompt_tokens_details!.cached_tokens!)
  })

  test('structured output fits its schema', async () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string' },
        mood: { enum: ['calm', 'wild'] },
        ids: { type: 'array', items: { type: 'integer' } },
      },
    }
    const reply = await client.chat.completions.create({
      model: 'sim',
      messages: userMessages('Describe the wild streets of Paris in 3 ways'),
      response_format: { type: 'json_schema', json_schema: { name: 'description', schema } },
    })
    expect(JSON.parse(reply.choices[0]!.message.content!)).toEqual({ city: 'Paris', mood: 'wild', ids: [3] })
  })
})

describe('reasoning models', () => {
  const request = { model: 'sim-reasoning', messages: userMessages('Say: done') }

  test('think before they respond, in reasoning_content', async () => {
    const { chunks, text } = await collect(await client.chat.completions.create({ ...request, stream: true }))
    const deltas = chunks.map((chunk) => chunk.choices[0]!.delta as { reasoning_content?: string })
    expect(deltas.map((delta) => delta.reasoning_content ?? '').join('')).toContain('step by step')
    expect(text).toBe('done')
  })

  test('with a small max_tokens thinking takes it all: empty content, finish_reason length', async () => {
    const reply = await client.chat.completions.create({ ...request, max_tokens: 50 })
    expect(reply.choices[0]).toMatchObject({ message: { content: '' }, finish_reason: 'length' })
    expect(reply.usage).toMatchObject({ completion_tokens: 50, completion_tokens_details: { reasoning_tokens: 50 } })
  })

  test('enable_thinking: false turns it off', async () => {
    const withoutThinking = { ...request, max_tokens: 50, chat_template_kwargs: { enable_thinking: false } }
    const reply = await client.chat.completions.create(withoutThinking)
    expect(reply.choices[0]).toMatchObject({ message: { content: 'done' }, finish_reason: 'stop' })
  })
})

describe('tools', () => {
  const tools: OpenAI.ChatCompletionTool[] = [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'Current weather of a city',
        parameters: {
          type: 'object',
          properties: {
            city: { type: 'string' },
            unit: { enum: ['celsius', 'fahrenheit'] },
            days: { type: 'integer' },
          },
          required: ['city'],
        },
      },
    },
    { type: 'function', function: { name: 'send_email', parameters: { type: 'object', properties: {} } } },
  ]
  const messages = userMessages('What is the weather in Paris for 3 days, in fahrenheit?')
  const expected = { city: 'Paris', unit: 'fahrenheit', days: 3 }

  test('a prompt that calls for a tool gets a call with arguments that fit its schema', async () => {
    const reply = await client.chat.completions.create({ model: 'sim', messages, tools })
    const [choice] = reply.choices
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
    const call = choice!.message.tool_calls![0] as OpenAI.ChatCompletionMessageFunctionToolCall
    expect(call.function.name).toBe('get_weather')
    expect(JSON.parse(call.function.arguments)).toEqual(expected)
  })

  test('a streamed call comes in fragments', async () => {
    const request = { model: 'sim', messages, tools, stream: true as const }
    const { chunks } = await collect(await client.chat.completions.create(request))
    const fragments = chunks.flatMap((chunk) => chunk.choices[0]!.delta.tool_calls ?? [])
    expect(fragments.length).toBeGreaterThan(3)
    expect(fragments[0]).toMatchObject({ index: 0, type: 'function', function: { name: 'get_weather' } })
    expect(JSON.parse(fragments.map((fragment) => fragment.function?.arguments ?? '').join(''))).toEqual(expected)
    expect(chunks.at(-1)!.choices[0]!.finish_reason).toBe('tool_calls')
  })

  test('the result of a tool gets a text response', async () => {
    const first = await client.chat.completions.create({ model: 'sim', messages, tools })
    const called = first.choices[0]!.message
    const result = { role: 'tool' as const, tool_call_id: called.tool_calls![0]!.id, content: '21 degrees' }
    const second = await client.chat.completions.create({
      model: 'sim',
      messages: [...messages, called, result],
      tools,
    })
    expect(second.choices[0]).toMatchObject({ finish_reason: 'stop' })
    expect(second.choices[0]!.message.content).toContain('21 degrees')
  })

  test('other prompts get text, tool_choice forces or forbids', async () => {
    const finish = async (extra: object, content = 'Hello') => {
      const reply = await client.chat.completions.create({
        model: 'sim',
        messages: userMessages(content),
        tools,
        ...extra,
      })
      return reply.choices[0]!.finish_reason
    }
    expect(await finish({})).toBe('stop')
    expect(await finish({ tool_choice: 'required' })).toBe('tool_calls')
    expect(await finish({ tool_choice: { type: 'function', function: { name: 'send_email' } } })).toBe('tool_calls')
    expect(await finish({ tool_choice: 'none' }, 'weather')).toBe('stop')
  })
})

describe('embeddings', () => {
  test('768 dimensions of length 1, in base64 (the default of the client) and as floats alike', async () => {
    const request = { model: 'sim-embed', input: ['a cat sat', 'on the mat'] }
    const packed = await client.embeddings.create(request)
    const plain = await client.embeddings.create({ ...request, encoding_format: 'float' })
    expect(packed.data.map(({ index }) => index)).toEqual([0, 1])
    expect(plain.data[0]!.embedding).toHaveLength(768)
    expect(dotProduct(plain.data[0]!.embedding, plain.data[0]!.embedding)).toBeCloseTo(1, 3)
    packed.data[0]!.embedding.forEach((value, at) => expect(value).toBeCloseTo(plain.data[0]!.embedding[at]!, 6))
    expect(packed.usage).toEqual({ prompt_tokens: 6, total_tokens: 6 })
  })

  test('texts that share words are nearer than texts that do not', async () => {
    const input = ['the cat sat on the mat', 'a cat sat on a mat', 'quarterly revenue grew']
    const { data } = await client.embeddings.create({ model: 'sim-embed', input, encoding_format: 'float' })
    const [first, near, far] = data.map(({ embedding }) => embedding)
    expect(dotProduct(first!, near!)).toBeGreaterThan(dotProduct(first!, far!) + 0.3)
  })
})

describe('images', () => {
  test('a real PNG of the requested size, with its usage', async () => {
    const image = await client.images.generate({ model: 'sim-image', prompt: 'a lighthouse', size: '1536x1024' })
    const png = Buffer.from(image.data![0]!.b64_json!, 'base64')
    expect(readPng(png)).toEqual({ width: 1536, height: 1024, pixelBytes: (1536 + 1) * 1024 })
    expect(image.usage).toMatchObject({ input_tokens: 3, output_tokens: 1536, total_tokens: 1539 })
    const again = await client.images.generate({ model: 'sim-image', prompt: 'a lighthouse', size: '1536x1024' })
    expect(again.data![0]!.b64_json).toBe(image.data![0]!.b64_json)
  })

  test('an image requested as a URL can be fetched from there', async () => {
    const request = { model: 'sim-image', prompt: 'a boat', size: '256x256' as const, response_format: 'url' as const }
    const image = await client.images.generate(request)
    const fetched = await fetch(image.data![0]!.url!)
    expect(readPng(Buffer.from(await fetched.arrayBuffer()))).toMatchObject({ width: 256, height: 256 })
  })
})

describe('requests that are wrong', () => {
  test.each([
    ['no messages', { model: 'sim' }, 'messages'],
    ['no model', { messages: userMessages('hi') }, 'model'],
    ['a role that does not exist', { model: 'sim', messages: [{ role: 'wizard', content: 'x' }] }, 'messages[0].role'],
    ['max_tokens 0', { model: 'sim', messages: userMessages('hi'), max_tokens: 0 }, 'max_tokens'],
    [
      'stream_options without stream',
      { model: 'sim', messages: userMessages('hi'), stream_options: {} },
      'stream_options',
    ],
  ])('%s: 400 that names the field', async (_, body, param) => {
    const error = await client.chat.completions.create(body as never).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(BadRequestError)
    expect((error as APIError).param).toBe(param)
  })

  test('a body that is not JSON is 400, an unknown address 404, a wrong method 405', async () => {
    const status = async (path: string, init: RequestInit) => (await fetch(backend.url + path, init)).status
    expect(await status('/chat/completions', { method: 'POST', body: '{oops' })).toBe(400)
    expect(await status('/nowhere', { method: 'POST', body: '{}' })).toBe(404)
    expect(await status('/chat/completions', {})).toBe(405)
  })

  test('a wrong credential, an unknown model and a prompt that is too long are refused where those are set', async () => {
    await using strict = await startBackend({ apiKey: 'secret', models: ['known'], contextWindow: 50 })
    const as = (apiKey: string) => new OpenAI({ baseURL: strict.url, apiKey, maxRetries: 0 }).chat.completions
    const request = { model: 'known', messages: userMessages('hi') }
    await expect(as('wrong').create(request)).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' })
    await expect(as('secret').create({ ...request, model: 'other' })).rejects.toMatchObject({ status: 404 })
    const long = { ...request, messages: userMessages('word '.repeat(60)) }
    await expect(as('secret').create(long)).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
    await expect(as('secret').create(request)).resolves.toMatchObject({ object: 'chat.completion' })
  })
})

describe('the log of calls', () => {
  test('holds each caller, its request, the response, and the cost', async () => {
    const reply = await client.chat.completions.create(
      { model: 'sim', messages: userMessages('Say: hello there') },
      { headers: { 'x-request-id': 'req-1', 'x-simulated-backend': 'gpu-a' } },
    )
    await expect.poll(() => backend.running).toBe(0)
    expect(backend.calls).toMatchObject([
      {
        number: expect.any(Number),
        endpoint: 'chat',
        requestId: 'req-1',
        backend: 'gpu-a',
        model: 'sim',
        body: { messages: userMessages('Say: hello there') },
        status: 200,
        outcome: 'completed',
        usage: reply.usage,
      },
    ])
  })

  test('sees a client leave in the middle of a stream', async () => {
    backend.setSpeed({ tokensPerSecond: 100 })
    const request = { model: 'sim', messages: userMessages('500 words'), stream: true as const }
    const stream = await client.chat.completions.create(request)
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    backend.setSpeed({ tokensPerSecond: 0 })
    await expect.poll(() => backend.calls[0]?.outcome).toBe('aborted')
    expect(backend.calls[0]!.chunksSent).toBeLessThan(400)
  })
})

test('responses come at the speed that is set', async () => {
  await using slow = await startBackend({ tokensPerSecond: 100, firstByteDelayMs: 100 })
  const paced = new OpenAI({ baseURL: slow.url, apiKey: 'unused', maxRetries: 0 }).chat.completions
  const startedAtMs = performance.now()
  await collect(await paced.create({ model: 'sim', messages: userMessages('40 words'), stream: true }))
  expect(performance.now() - startedAtMs).toBeGreaterThan(400)
})

test('lists its models and says that it is well', async () => {
  const models = await client.models.list()
  expect(models.data.map((model) => model.id)).toContain('sim-chat')
  const health = await fetch(backend.url.replace('/v1', '/health'))
  expect(await health.json()).toEqual({ status: 'ok' })
})

function dotProduct(a: number[], b: number[]): number {
  return a.reduce((total, value, at) => total + value * b[at]!, 0)
}

function readPng(png: Buffer): { width: number; height: number; pixelBytes: number } {
  expect(png.subarray(1, 4).toString()).toBe('PNG')
  const pixels: Buffer[] = []
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') pixels.push(png.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  return {
    width: png.readUInt32BE(16),
    height: png.readUInt32BE(20),
    pixelBytes: inflateSync(Buffer.concat(pixels)).length,
  }
}
