/**
 * Promises to a client of the inference endpoints when nothing goes wrong.
 */

import type { Fault } from '@gateway/stand-ins/backend'
import OpenAI from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { userMessages, type Caller, type Gateway, newDeveloper, newGuest, newLane, send, sendRaw } from './gateway.ts'

export function promiseResponses(gateway: () => Gateway): void {
  describe('chat', () => {
    let guest: Caller
    let developer: Caller
    beforeAll(async () => {
      guest = await newGuest(gateway())
      developer = await newDeveloper(gateway())
    })

    test("a completion names the backend's model, and its headers the pool and the standing", async () => {
      const request = guest.client.chat.completions.create({
        model: 'svc-instant',
        messages: userMessages('Say: hello there'),
      })
      const { data, response } = await request.withResponse()
      expect(data).toMatchObject({
        object: 'chat.completion',
        model: 'sim-spark-8b',
        choices: [{ index: 0, message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' }],
      })
      expect(data.usage!.total_tokens).toBe(data.usage!.prompt_tokens + data.usage!.completion_tokens)
      expect(response.headers.get('x-svc-upstream')).toBe('spark')
      expect(response.headers.get('x-svc-quota-plan')).toBe('guest-device')
      expect(Number(response.headers.get('x-svc-quota-limit'))).toBeGreaterThan(0)
      expect(Number(response.headers.get('x-svc-quota-used'))).toBeGreaterThan(0)
      expect(Date.parse(response.headers.get('x-svc-quota-reset')!)).toBeGreaterThan(Date.now())
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    })

    test('a model left out is svc-chat-md', async () => {
      const { status, body, headers } = await send(gateway().urls[0], '/v1/chat/completions', {
        key: guest.key,
        body: { messages: userMessages('Say: hello') },
      })
      expect({ status, model: body['model'] }).toEqual({ status: 200, model: 'sim-bolt-14b' })
      expect(headers.get('deprecation')).toMatch(/^@\d+$/)
    })

    test.each(['svc-instant', 'svc-fast', 'svc-best'])('%s serves a guest', async (model) => {
      const reply = await guest.client.chat.completions.create({ model, messages: userMessages('Say: yes') })
      expect(reply.choices[0]!.message.content).toBe('yes')
    })

    test('a stream carries the text piece by piece and ends with [DONE]; usage only on request', async () => {
      const request = {
        model: 'svc-core',
        messages: userMessages('Say: Grüße 🎉 to all of you'),
        stream: true as const,
      }
      const stream = await developer.client.chat.completions.create(request)
      const pieces: string[] = []
      const finishes: string[] = []
      for await (const chunk of stream) {
        expect(chunk).toMatchObject({ object: 'chat.completion.chunk', model: 'sim-nova-70b' })
        expect(chunk.choices).toHaveLength(1)
        expect(chunk.usage ?? null).toBeNull()
        if (chunk.choices[0]!.delta.content) pieces.push(chunk.choices[0]!.delta.content)
        if (chunk.choices[0]!.finish_reason) finishes.push(chunk.choices[0]!.finish_reason)
      }
      expect(pieces.join('')).toBe('Grüße 🎉 to all of you')
      expect(pieces.length).toBeGreaterThan(3)
      expect(finishes).toEqual(['stop'])

      const body = { ...request, stream_options: { include_usage: true } }
      const raw = await sendRaw(gateway().urls[0], '/v1/chat/completions', { key: developer.key, body })
      expect(raw.headers.get('content-type')).toMatch(/^text\/event-stream/)
      expect(raw.headers.get('x-svc-upstream')).toBe('nova')
      const events = (await raw.text()).trim().split('\n\n')
      expect(events.at(-1)).toBe('data: [DONE]')
      expect(JSON.parse(events.at(-2)!.slice('data: '.length))).toMatchObject({
        choices: [],
        usage: { completion_tokens: 6 },
      })
    })

    test("a client's own timeout is for the headers: a stream that begins in time comes whole", async () => {
      const { backends } = gateway()
      const fault = backends.steadyA.fail({ times: 1, endpoint: 'chat', paceMs: 300 })
      try {
        const request = {
          model: 'svc-core',
          messages: userMessages('Say: a b c d e f g h i j k l m n'),
          stream: true as const,
        }
        const startedAtMs = performance.now()
        const stream = await developer.client.chat.completions.create(request, { timeout: 2_000 })
        let text = ''
        for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
        expect(text).toBe('a b c d e f g h i j k l m n')
        expect(performance.now() - startedAtMs).toBeGreaterThan(4_000)
      } finally {
        fault.cancel()
      }
    })

    test("when no response has begun within a client's own timeout, the backend is stopped", async () => {
      const { backends } = gateway()
      const faults = [backends.steadyA, backends.steadyB].map((one) => one.fail({ endpoint: 'chat', hang: true }))
      const before = backends.steadyA.calls.length
      try {
        const request = { model: 'svc-core', messages: userMessages('Say: late'), stream: true as const }
        const requested = developer.client.chat.completions.create(request, { timeout: 1_000 })
        // Both count the same second, and the edge's refusal may overtake a client that is late.
        await expect(requested).rejects.toSatisfy(
          (error) => error instanceof OpenAI.APIConnectionTimeoutError || error.status === 408,
        )
        await expect.poll(() => backends.steadyA.running + backends.steadyB.running).toBe(0)
        expect(backends.steadyA.calls.slice(before)).not.toEqual([])
      } finally {
        for (const fault of faults) fault.cancel()
      }
    })

    test('sampling parameters and unknown fields reach the backend as they were sent', async () => {
      const { backends } = gateway()
      const before = backends.steadyA.calls.length
      const sent = {
        temperature: 0.25,
        top_p: 0.5,
        seed: 7,
        logit_bias: { '50256': -100 },
        some_vendor_field: { a: [1] },
      }
      await send(gateway().urls[0], '/v1/chat/completions', {
        key: developer.key,
        body: { model: 'svc-core', messages: userMessages('Say: hi'), ...sent },
      })
      expect(backends.steadyA.calls.slice(before).at(-1)?.body).toMatchObject({ ...sent, model: 'sim-nova-70b' })
    })

    test('n, stop and max_tokens work as in the OpenAI convention', async () => {
      const request = { model: 'svc-core', messages: userMessages('Say: alpha beta gamma'), n: 2, stop: [' gamma'] }
      const reply = await developer.client.chat.completions.create(request)
      expect(reply.choices.map(({ index, message }) => [index, message.content])).toEqual([
        [0, 'alpha beta'],
        [1, 'alpha beta'],
      ])
      const cut = await developer.client.chat.completions.create({
        model: 'svc-core',
        messages: userMessages('90 words'),
        max_tokens: 5,
      })
      expect(cut).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 5 } })
    })

    test('a tool is called, streamed too, and its result gets a response', async () => {
      const tools = [WEATHER_TOOL]
      const messages = userMessages('What is the weather in Paris?')
      const request = { model: 'svc-agent', messages, tools }
      const plain = await developer.client.chat.completions.create(request)
      const called = plain.choices[0]!.message
      const call = called.tool_calls![0] as OpenAI.ChatCompletionMessageFunctionToolCall
      expect({ name: call.function.name, arguments: JSON.parse(call.function.arguments) }).toEqual({
        name: 'get_weather',
        arguments: { city: 'Paris' },
      })

      const runner = developer.client.chat.completions.stream(request)
      const streamed = await runner.finalChatCompletion()
      const [streamedCall] = streamed.choices[0]!.message.tool_calls!
      expect(streamedCall).toMatchObject({ function: call.function })

      const result = { role: 'tool' as const, tool_call_id: call.id, content: '21 degrees' }
      const followUp = { ...request, messages: [...messages, called, result] }
      const reply = await developer.client.chat.completions.create(followUp)
      expect(reply.choices[0]!.message.content).toContain('21 degrees')
    })

    test('an image of several megabytes travels with its question', async () => {
      const url = `data:image/png;base64,${'A'.repeat(8 * 1024 * 1024)}`
      const content = [
        { type: 'text' as const, text: 'What is in this picture?' },
        { type: 'image_url' as const, image_url: { url } },
      ]
      const reply = await developer.client.chat.completions.create({
        model: 'svc-vision',
        messages: [{ role: 'user', content }],
      })
      expect(reply.model).toBe('sim-vision-72b')
      expect(reply.choices[0]!.message.content).toContain('1 image.')
    })

    test.each<[string, Fault]>([
      ['byte by byte', { splitEvery: [1] }],
      ['with CRLF, comments and odd pieces', { crlf: true, comments: true, splitEvery: [3, 1, 7] }],
      ['without [DONE]', { noDone: true }],
      ['with usage beside the finish reason', { usageWithFinish: true }],
    ])('a stream that the backend sends %s reads the same', async (_, fault) => {
      const { model, first } = newLane(gateway())
      gateway().backends.frail.fail({ backend: first, ...fault })
      const request = { model, messages: userMessages('Say: Grüße 🎉 to all of you'), stream: true as const }
      const withUsage = { ...request, stream_options: { include_usage: true } }
      let text = ''
      let tokens = 0
      for await (const chunk of await developer.client.chat.completions.create(withUsage)) {
        text += chunk.choices[0]?.delta.content ?? ''
        tokens += chunk.usage?.completion_tokens ?? 0
      }
      expect({ text, tokens }).toEqual({ text: 'Grüße 🎉 to all of you', tokens: 6 })
    })

    test('a huge response arrives whole, to a client that reads slowly too', async () => {
      const { model, first } = newLane(gateway())
      const sizeBytes = 3 * 1024 * 1024
      gateway().backends.frail.fail({ backend: first, sizeBytes })
      const request = { model, messages: userMessages('everything'), max_tokens: 500_000, stream: true as const }
      let received = 0
      let pauses = 0
      for await (const chunk of await developer.client.chat.completions.create(request)) {
        received += chunk.choices[0]?.delta.content?.length ?? 0
        if (received > (pauses + 1) * 512 * 1024) {
          pauses++
          await new Promise((resolve) => setTimeout(resolve, 200))
        }
      }
      expect(received).toBe(sizeBytes)
    })

    test('svc-ultra-pro thinks: a small budget is used up by it, and enable_thinking: false turns it off', async () => {
      const request = { model: 'svc-ultra-pro', messages: userMessages('Say: done'), max_tokens: 40 }
      const thinking = await developer.client.chat.completions.create(request)
      expect(thinking.choices[0]).toMatchObject({ message: { content: '' }, finish_reason: 'length' })
      const direct = { ...request, chat_template_kwargs: { enable_thinking: false } }
      const reply = await developer.client.chat.completions.create(direct)
      expect(reply.choices[0]).toMatchObject({ message: { content: 'done' }, finish_reason: 'stop' })
    })

    test('svc-best says which lane it chose; a model that was chosen is never rewritten', async () => {
      const create = (model: string) =>
        developer.client.chat.completions.create({ model, messages: userMessages('Say: hello') }).withResponse()
      const auto = await create('svc-best')
      expect(auto.response.headers.get('x-svc-smart-route')).toMatch(/^svc-(instant|fast|core|pro|research|code)\b/)
      const chosen = await create('svc-core')
      expect(chosen.response.headers.get('x-svc-smart-route')).toBeNull()
    })
  })

  describe('embeddings', () => {
    test('768 dimensions per input, in order, whether packed (the default of the client) or as numbers', async () => {
      const { client } = await newGuest(gateway())
      const request = { model: 'svc-embed', input: ['first text', 'second text'] }
      const packed = await client.embeddings.create(request)
      const plain = await client.embeddings.create({ ...request, encoding_format: 'float' })
      for (const list of [packed, plain]) {
        expect(list).toMatchObject({ object: 'list', usage: { prompt_tokens: 4, total_tokens: 4 } })
        expect(list.data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
          [0, 768],
          [1, 768],
        ])
      }
      expect(packed.data[1]!.embedding[5]).toBeCloseTo(plain.data[1]!.embedding[5]!, 6)
      const single = await client.embeddings.create({ model: 'svc-embed-fast', input: 'first text' })
      expect(single.data).toHaveLength(1)
    })
  })

  describe('images', () => {
    test('a PNG of 1024x1024 unless the request names another size, with its usage', async () => {
      const { client } = await newGuest(gateway())
      const sizeOf = async (size?: '512x512' | '2048x2048') => {
        const image = await client.images.generate({
          model: 'svc-image',
          prompt: 'a lighthouse',
          ...(size ? { size } : {}),
        })
        expect(image.usage!.total_tokens).toBe(image.usage!.input_tokens + image.usage!.output_tokens)
        const png = Buffer.from(image.data![0]!.b64_json!, 'base64')
        expect(png.subarray(1, 4).toString()).toBe('PNG')
        return `${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`
      }
      // Images are not of the guest tier; a developer's key may draw.
      await expect(sizeOf()).rejects.toMatchObject({ status: 429 })
      const developer = await newDeveloper(gateway())
      client.apiKey = developer.key
      expect(await sizeOf()).toBe('1024x1024')
      expect(await sizeOf('512x512')).toBe('512x512')
      expect(await sizeOf('2048x2048')).toBe('2048x2048')
    })

    test('an image whose backend reports no usage costs the tokens reserved for it', async () => {
      const { client } = await newDeveloper(gateway())
      const fault = gateway().backends.steadyA.fail({ times: 1, endpoint: 'images', noUsage: true })
      try {
        const image = await client.images.generate({ model: 'svc-image', prompt: 'a lighthouse' })
        expect(image.usage).toMatchObject({ output_tokens: 6_240 })
      } finally {
        fault.cancel()
      }
    })
  })

  describe('anyone may read', () => {
    test('the models, each with its owner', async () => {
      const client = new OpenAI({ baseURL: `${gateway().urls[0]}/v1`, apiKey: 'none' })
      const models = await client.models.list()
      const ids = models.data.map(({ id }) => id)
      expect(ids).toEqual(expect.arrayContaining(['svc-best', 'svc-instant', 'svc-embed', 'svc-image', 'svc-chat-md']))
      for (const model of models.data) expect(model).toMatchObject({ object: 'model', owned_by: expect.any(String) })
      const unsigned = await send(gateway().urls[0], '/v1/models')
      expect(unsigned).toMatchObject({ status: 200, body: { object: 'list' } })
    })

    test('the tiers, in order, with their multipliers', async () => {
      const { status, body } = await send(gateway().urls[0], '/v1/catalog?view=tiers')
      expect(status).toBe(200)
      const tiers = body['data'] as { name: string; multiplier: number | null; availability: string }[]
      expect(tiers.map(({ name, multiplier, availability }) => [name, multiplier, availability])).toEqual([
        ['Auto', null, 'all'],
        ['Spark', 1, 'all'],
        ['Bolt', 1.5, 'all'],
        ['Nova', 3.75, 'all'],
        ['Atlas', 6.7, 'paid'],
        ['Research', 2.3, 'paid'],
        ['Apex', 13.3, 'paid'],
        ['Code', 1, 'paid'],
        ['Vision', 1.25, 'paid'],
      ])
    })
  })
}

const WEATHER_TOOL: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
