/**
 * For any image options a client gets a PNG or a refusal, and the backend that it shares with others stays well.
 */

import type { ServerResponse } from 'node:http'
import type { JobHeader } from '@gateway/contracts/job'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sendJson, type Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { PNG } from './well-behaved.ts'

type Body = Record<string, unknown>

const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4, 5, 6, 7, 8])
const IMAGES: Partial<JobHeader> = { kind: 'images', needs: ['images'], reservedOutputTokens: 6_240 }

const unknown = (response: ServerResponse, param: string) =>
  sendJson(response, 400, {
    error: {
      message: `Unknown parameter: '${param}'.`,
      type: 'invalid_request_error',
      param,
      code: 'unknown_parameter',
    },
  })

function draw(response: ServerResponse, body: Body, { url, jpeg }: { url: boolean; jpeg: boolean }): void {
  if (body.stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('event: image_generation.completed\ndata: {"b64_json":""}\n\n')
    return
  }
  const image = (jpeg ? JPEG : PNG).toString('base64')
  const one = url ? { url: 'https://images.tulip.example/1.png' } : { b64_json: image }
  const count = typeof body.n === 'number' ? body.n : 1
  sendJson(response, 200, { created: 1, data: Array.from({ length: count }, () => one) })
}

/** Servers of images take the two parameters for the form of their response in these ways. */
const SERVERS: Record<string, Reply> = {
  // OpenAI's reference: `output_format` is of GPT image models only; without `response_format` there are addresses.
  'dall-e': (response, { body }) => {
    if ('output_format' in body) return unknown(response, 'output_format')
    return draw(response, body, { url: body.response_format !== 'b64_json', jpeg: false })
  },
  'gpt-image': (response, { body }) => {
    if ('response_format' in body) return unknown(response, 'response_format')
    return draw(response, body, { url: false, jpeg: !['png', undefined].includes(body.output_format as string) })
  },
  'one that takes both': (response, { body }) =>
    draw(response, body, { url: body.response_format !== 'b64_json', jpeg: body.output_format !== 'png' }),
  'one that takes neither, and says so as FastAPI does': (response, { body }) => {
    const extra = ['response_format', 'output_format'].filter((name) => name in body)
    if (extra.length === 0) return draw(response, body, { url: false, jpeg: false })
    const detail = extra.map((name) => ({
      type: 'extra_forbidden',
      loc: ['body', name],
      msg: 'Extra inputs are not permitted',
    }))
    return sendJson(response, 422, { detail })
  },
}

const MODELS: Record<string, string[]> = {
  'dall-e': ['dall-e-3', 'our-painter'],
  'gpt-image': ['gpt-image-2', 'openai/gpt-image-1.5', 'chatgpt-image-latest', 'our-painter'],
  'one that takes both': ['flux'],
  'one that takes neither, and says so as FastAPI does': ['flux'],
}

const cases = Object.entries(MODELS).flatMap(([server, models]) => models.map((model) => ({ server, model })))

describe('images', () => {
  test.for(cases)('are requested of $server as PNG and base64, under the name $model', async ({ server, model }) => {
    const a = await backend(SERVERS[server]!)
    const under = await router(poolOver([a.url], { targets: [{ model }] }))
    for (let i = 0; i < 3; i++) {
      const { text, end, failure } = await under.sendRequest(IMAGES, { prompt: 'a cat' })
      expect(failure).toBeNull()
      expect(JSON.parse(text())).toMatchObject({ data: [{ b64_json: PNG.toString('base64') }] })
      // The router remembers the learned rejection.
      if (i > 0) expect(end?.attempts).toHaveLength(1)
    }
  })

  const option = fc.oneof(
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      1,
      2,
      'url',
      'b64_json',
      'png',
      'jpeg',
      'webp',
      'gif',
      'svg',
      'auto',
    ),
    fc.jsonValue({ maxDepth: 1 }),
  )
  const names = [
    'response_format',
    'output_format',
    'output_compression',
    'stream',
    'partial_images',
    'n',
    'background',
    'quality',
    'style',
    'moderation',
    'user',
    'frame_count',
    'stream_options',
    'model',
  ] as const
  const options = fc.record(Object.fromEntries(names.map((name) => [name, option])) as Record<string, typeof option>, {
    requiredKeys: [],
  })

  test.for(cases)('no option hurts $server under the name $model, nor lets anything but a PNG through', async (one) => {
    const a = await backend(SERVERS[one.server]!)
    const under = await router(poolOver([a.url], { targets: [{ model: one.model }] }))
    await fc.assert(
      fc.asyncProperty(options, async ({ n, ...rest }) => {
        const count = typeof n === 'number' && Number.isInteger(n) && n > 0 && n <= 10 ? { n } : {}
        const job = await under.sendRequest(IMAGES, { prompt: 'a cat', ...rest, ...count })
        if (job.failure) expect(job.failure.code).toBe('BACKEND_REFUSED')
        else expect(job.text()).toContain(PNG.toString('base64'))
        const outcomes = (job.end ?? job.failure)!.attempts.map(({ outcome }) => outcome)
        for (const outcome of outcomes) expect(outcome).toMatch(/^(served|http_4(00|22))$/)
      }),
      { numRuns: 60 },
    )
  })

  test.each([
    ['no usage', undefined, 2 * 6_240],
    ['a usage without the picture', { input_tokens: 4, output_tokens: 0, total_tokens: 4 }, 2 * 6_240],
    ['nothing but zeros', { input_tokens: 0, output_tokens: 0, total_tokens: 0 }, 2 * 6_240],
  ])('whose backend reports %s cost the tokens reserved for them, marked estimated', async (_, usage, tokens) => {
    const data = [{ b64_json: PNG.toString('base64') }, { b64_json: PNG.toString('base64') }]
    const a = await backend((response) => sendJson(response, 200, { created: 1, data, usage }))
    const under = await router(poolOver([a.url]))
    const job = await under.sendRequest({ ...IMAGES, reservedOutputTokens: tokens }, { prompt: 'two cats', n: 2 })
    expect(job.end?.usage).toMatchObject({ completionTokens: tokens, estimated: true })
    expect(JSON.parse(job.text())).toMatchObject({ usage: { output_tokens: tokens } })
  })

  test.each([
    ['one of three', 1, 6_240],
    ['all three', 3, 3 * 6_240],
    ['four of three', 4, 3 * 6_240],
  ])('of which a backend without usage gives %s cost as many', async (_, pictures, tokens) => {
    const data = Array.from({ length: pictures }, () => ({ b64_json: PNG.toString('base64') }))
    const a = await backend((response) => sendJson(response, 200, { created: 1, data }))
    const under = await router(poolOver([a.url]))
    const job = await under.sendRequest({ ...IMAGES, reservedOutputTokens: 3 * 6_240 }, { prompt: 'three cats', n: 3 })
    expect(job.end?.usage).toMatchObject({ completionTokens: tokens, estimated: true })
  })

  test('whose backend reports their usage cost that', async () => {
    const usage = { input_tokens: 4, output_tokens: 1_056, total_tokens: 1_060 }
    const data = [{ b64_json: PNG.toString('base64') }]
    const a = await backend((response) => sendJson(response, 200, { created: 1, data, usage }))
    const job = await (await router(poolOver([a.url]))).sendRequest(IMAGES, { prompt: 'a cat' })
    expect(job.end?.usage).toMatchObject({ promptTokens: 4, completionTokens: 1_056, estimated: false })
  })

  test('are counted in the usage, as many as the client receives', async () => {
    const run = fc.asyncProperty(fc.integer({ min: 1, max: 10 }), fc.boolean(), async (pictures, isCounted) => {
      const data = Array.from({ length: pictures }, () => ({ b64_json: PNG.toString('base64') }))
      const usage = isCounted ? { input_tokens: 4, output_tokens: 9, total_tokens: 13 } : undefined
      const a = await backend((response) => sendJson(response, 200, { created: 1, data, usage }))
      const job = await (await router(poolOver([a.url]))).sendRequest(IMAGES, { prompt: 'cats', n: 3 })
      expect(JSON.parse(job.text())).toMatchObject({ data })
      expect(job.end?.usage).toMatchObject({ images: pictures, estimated: !isCounted })
    })
    await fc.assert(run, { numRuns: 12 })
  })
})
