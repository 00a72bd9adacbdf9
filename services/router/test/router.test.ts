import { describe, expect, test } from 'vitest'
import {
  DONE,
  ROLE,
  STOP,
  USAGE_CHUNK,
  chunk,
  completion,
  event,
  goodChat,
  openStream,
  sendJson,
  completeStream,
  type Reply,
} from './http-backend.ts'
import { backend, router, SOON } from './open.ts'
import { poolOver } from './router-under-test.ts'

describe('a plain response', () => {
  test('travels back as the very bytes of the backend', async () => {
    const a = await backend(goodChat)
    const reply = await (await router(poolOver([a.url]))).sendRequest()
    expect(reply.text()).toBe(JSON.stringify(completion()))
    expect(reply.head).toEqual({
      contentType: 'application/json',
      backendMs: expect.any(Number),
      upstream: 'spark',
      backend: 'a',
      backendModel: 'model-a',
    })
    expect(reply.end?.usage).toEqual({
      promptTokens: 9,
      completionTokens: 3,
      cachedTokens: 0,
      reasoningTokens: 0,
      estimated: false,
    })
    expect(reply.end?.attempts).toMatchObject([{ backend: 'a', model: 'model-a', outcome: 'served' }])
  })

  test('is requested with the backend model and the default cap, and the client text untouched behind them', async () => {
    const a = await backend(goodChat)
    await (
      await router(poolOver([a.url], { targets: [{ contextWindow: 100 }] }))
    ).sendRequest({ defaultMaxTokens: 500 }, { messages: [], seed: 7 })
    expect(a.seen[0]?.text).toBe('{"model":"model-a","max_tokens":89,"messages":[],"seed":7}')
  })
})

describe('a stream', () => {
  test('is relayed event by event, without the usage chunk nobody requested and without [DONE]', async () => {
    const a = await backend(goodChat)
    const reply = await (await router(poolOver([a.url]))).sendRequest({ stream: true })
    expect(reply.text()).toBe(completeStream().replace(USAGE_CHUNK, '').replace('data: [DONE]\n\n', ''))
    expect(reply.end?.usage).toMatchObject({ promptTokens: 9, completionTokens: 3, estimated: false })
    expect(a.seen[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } })
  })

  test('carries the usage chunk for a client that requested it', async () => {
    const a = await backend(goodChat)
    const reply = await (await router(poolOver([a.url]))).sendRequest({ stream: true, includeUsage: true })
    expect(reply.text()).toContain(USAGE_CHUNK)
  })

  test('that fails after content ends in an error with the shown text, never in a good end', async () => {
    const a = await backend((response) => {
      openStream(response)
      response.write(ROLE + chunk({ content: 'one two three' }))
      setTimeout(() => response.destroy(), 50)
    })
    const b = await backend(goodChat)
    const reply = await (await router(poolOver([a.url, b.url]))).sendRequest({ stream: true })
    expect(reply.end).toBeNull()
    expect(reply.failure).toMatchObject({ usage: { promptTokens: 11, completionTokens: 3, estimated: true } })
    expect(b.seen).toHaveLength(0)
  })

  test('that stops cleanly without finish reason and [DONE] is a failure', async () => {
    const a = await backend((response) => {
      openStream(response)
      response.end(ROLE + chunk({ content: 'half' }))
    })
    const reply = await (await router(poolOver([a.url]))).sendRequest({ stream: true })
    expect(reply.failure?.attempts).toMatchObject([{ outcome: 'truncated' }])
  })

  test('shows its finish reason together with its end, also to a reader that takes nothing', async () => {
    let finish = () => {}
    const a = await backend((response) => {
      openStream(response)
      response.write(ROLE + chunk({ content: 'one two' }) + STOP)
      finish = () => response.end(USAGE_CHUNK)
    })
    const job = (await router(poolOver([a.url]))).send({ stream: true, remainingMs: 20_000 })
    await job.begun
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(job.text()).toBe(ROLE + chunk({ content: 'one two' }))
    job.hold()
    finish()
    await job.over
    expect(job.text()).toContain(STOP)
    expect(job.end?.usage).toMatchObject({ completionTokens: 3, estimated: false })
  })

  test('whose backend goes on about nothing after its finish reason is whole all the same', async () => {
    const a = await backend((response) => {
      openStream(response)
      response.write(ROLE + chunk({ content: 'one two' }) + STOP)
      const chatter = setInterval(() => response.write(': still here\n\n'), 200)
      response.once('close', () => clearInterval(chatter))
    })
    const reply = await (await router(poolOver([a.url]))).sendRequest({ stream: true, remainingMs: 20_000 })
    expect(reply.text()).toBe(ROLE + chunk({ content: 'one two' }) + STOP)
    expect(reply.end?.attempts).toMatchObject([{ outcome: 'served' }])
  })

  test('whose backend reports no usage is counted and marked', async () => {
    const a = await backend((response) => {
      openStream(response)
      response.end(ROLE + chunk({ content: 'one two three' }) + STOP)
    })
    const reply = await (await router(poolOver([a.url]))).sendRequest({ stream: true, includeUsage: true })
    expect(reply.end?.usage).toMatchObject({ promptTokens: 11, completionTokens: 3, estimated: true })
    expect(reply.text()).toContain('"usage":{"prompt_tokens":11,"completion_tokens":3,"total_tokens":14}')
  })

  const UNCOUNTED = { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 }
  const unCounted = (choices: object[]) =>
    event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, usage: UNCOUNTED })

  test.each([
    ['before it', [unCounted([]), ROLE, chunk({ content: 'one two' }), STOP, DONE]],
    ['behind it', [ROLE, chunk({ content: 'one two' }), STOP, unCounted([]), DONE]],
  ])('whose backend counts nothing of the text, %s, is counted and marked', async (_, events) => {
    const a = await backend((response) => {
      openStream(response)
      response.end(events.join(''))
    })
    const reply = await (await router(poolOver([a.url]))).sendRequest({ stream: true, includeUsage: true })
    expect(reply.end?.usage).toMatchObject({ promptTokens: 7, completionTokens: 2, estimated: true })
    expect(reply.text().match(/"usage":\{[^}]*\}/g)).toEqual([
      '"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}',
    ])
  })

  test('that breaks off behind a usage from before its text is billed as counted', async () => {
    const a = await backend((response) => {
      openStream(response)
      response.write(unCounted([{ index: 0, delta: { role: 'assistant' }, finish_reason: null }]))
      response.end(chunk({ content: 'one two' }))
    })
    const reply = await (await router(poolOver([a.url]))).sendRequest({ stream: true })
    expect(reply.failure?.usage).toMatchObject({ promptTokens: 7, completionTokens: 2, estimated: true })
  })
})

describe('failover', () => {
  test('a failing target is left for the next, and the client sees only the response', async () => {
    const a = await backend((response) => sendJson(response, 503, { error: 'overloaded' }))
    const b = await backend(goodChat)
    const reply = await (await router(poolOver([a.url, b.url]))).sendRequest({ stream: true })
    expect(reply.head?.backend).toBe('b')
    expect(reply.end?.attempts.map(({ outcome }) => outcome)).toEqual(['http_503', 'served'])
  })

  test('when nobody is left the failure names those that were tried', async () => {
    const a = await backend((response) => sendJson(response, 500, {}))
    const b = await backend((response) => sendJson(response, 502, {}))
    const reply = await (await router(poolOver([a.url, b.url]))).sendRequest()
    expect(reply.failure).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED', attempted: ['a', 'b'] })
    expect(reply.failure?.attempts.length).toBeGreaterThan(2)
  })

  test('a request that is wrong in itself is refused at once, in the words of the backend', async () => {
    const a = await backend((response) => sendJson(response, 422, { error: { message: 'no such role' } }))
    const b = await backend(goodChat)
    const reply = await (await router(poolOver([a.url, b.url]))).sendRequest()
    expect(reply.failure).toMatchObject({
      code: 'BACKEND_REFUSED',
      backendStatus: 422,
      backendBody: '{"error":{"message":"no such role"}}',
    })
    expect(b.seen).toHaveLength(0)
  })
})

const streaming: Reply = (response) => {
  openStream(response)
  response.write(ROLE + chunk({ content: 'one two three' }))
}

describe('a caller that has left', () => {
  test('stops the backend, and learns the tokens that were generated until then', async () => {
    const a = await backend(streaming)
    const under = await router(poolOver([a.url]))
    const job = under.send({ stream: true })
    await job.begun
    job.leave()
    await a.seen[0]?.connectionClosed
    await job.over
    expect(job.failure).toMatchObject({ usage: { completionTokens: 3, estimated: true }, attempted: ['a'] })
    expect(under.reports).toEqual([])
  })

  test.for([true, false])('before anything was shown (stream: %s) is billed for the prompt', async (stream) => {
    const a = await backend(() => {})
    const under = await router(poolOver([a.url]))
    const job = under.send({ stream })
    await expect.poll(() => a.seen.length, SOON).toBe(1)
    job.leave()
    await a.seen[0]?.connectionClosed
    await job.over
    expect(job.failure).toMatchObject({
      attempts: [{ backend: 'a', model: 'model-a', outcome: 'aborted' }],
      usage: { promptTokens: 11, completionTokens: 0, estimated: true },
    })
  })

  test('while its backend is refusing owes nothing', async () => {
    const a = await backend((response) => {
      response.writeHead(500, { 'content-type': 'application/json' })
      response.write('{')
    })
    const under = await router(poolOver([a.url]))
    const job = under.send()
    await expect.poll(() => a.seen.length, SOON).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 100))
    job.leave()
    await job.over
    expect(job.failure).not.toBeNull()
    expect(job.failure).not.toHaveProperty('usage')
  })

  test('before any backend was reached owes nothing', async () => {
    const a = await backend(streaming)
    const config = poolOver([a.url], { backend: { maxConcurrent: 1 } })
    const under = await router(config)
    const first = under.send({ stream: true })
    await first.begun
    const waiting = under.send({ stream: true })
    await new Promise((resolve) => setTimeout(resolve, 50))
    waiting.leave()
    await waiting.over
    expect(waiting.failure).toMatchObject({ attempts: [] })
    expect(waiting.failure).not.toHaveProperty('usage')
    first.leave()
  })

  test('and is lost before it has heard the last word is reported for', async () => {
    const a = await backend(() => {})
    const under = await router(poolOver([a.url]))
    const job = under.send()
    await expect.poll(() => a.seen.length, SOON).toBe(1)
    job.leave()
    await job.over
    job.abort('caller_lost')
    await expect
      .poll(() => under.reports, SOON)
      .toMatchObject([{ outcome: 'edge_lost', backend: 'a', usage: { promptTokens: 11, completionTokens: 0 } }])
  })
})

describe('a caller that goes away', () => {
  test('is reported for as lost, with the shown text', async () => {
    const a = await backend(streaming)
    const under = await router(poolOver([a.url]))
    const job = under.send({ stream: true })
    await job.begun
    job.abort('caller_lost')
    await a.seen[0]?.connectionClosed
    await expect
      .poll(() => under.reports, SOON)
      .toMatchObject([
        {
          reporter: 'router',
          outcome: 'edge_lost',
          delivered: false,
          backend: 'a',
          usage: { completionTokens: 3, estimated: true },
        },
      ])
  })

  test('before anything was shown is reported for, with the prompt', async () => {
    const a = await backend(() => {})
    const under = await router(poolOver([a.url]))
    const job = under.send()
    await expect.poll(() => a.seen.length, SOON).toBe(1)
    job.abort('caller_lost')
    await expect
      .poll(() => under.reports, SOON)
      .toMatchObject([{ outcome: 'edge_lost', usage: { promptTokens: 11, completionTokens: 0, estimated: true } }])
  })

  test('without a word about a stream that it has given up settles it itself', async () => {
    const a = await backend(streaming)
    const under = await router(poolOver([a.url]))
    const job = under.send({ stream: true })
    await job.begun
    job.abort('stopped')
    await a.seen[0]?.connectionClosed
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(under.reports).toEqual([])
  })

  test('without having acknowledged the end is reported with the whole usage', async () => {
    const a = await backend(goodChat)
    const under = await router(poolOver([a.url]))
    const job = await under.sendRequest({ stream: true })
    job.abort('caller_lost')
    await expect
      .poll(() => under.reports, SOON)
      .toMatchObject([{ outcome: 'edge_lost', usage: { promptTokens: 9, completionTokens: 3, estimated: false } }])
  })
})
