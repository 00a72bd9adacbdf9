import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { chunk, completion, goodChat, openStream, ROLE, sendJson, STOP, DONE } from './http-backend.ts'
import { backend, router, SOON } from './open.ts'
import { configOf, poolOver, startRouterUnderTest } from './router-under-test.ts'

describe('a new config', () => {
  test('is followed: pools come and go, and running jobs finish', async () => {
    let finish = () => {}
    const a = await backend((response) => {
      openStream(response)
      response.write(ROLE + chunk({ content: 'one' }))
      finish = () => response.end(STOP + DONE)
    })
    const b = await backend(goodChat)
    const under = await router(poolOver([a.url]))
    const running = under.send({ stream: true })
    await running.begun

    await under.reconfigure(
      configOf([{ id: 'b', url: b.url }], [{ id: 'nova', targets: [{ backend: 'b', model: 'm' }] }]),
    )
    expect(under.servedPools()).toEqual(['job.nova'])
    expect((await under.sendRequest({ pool: 'nova' })).head?.backend).toBe('b')
    finish()
    await running.over
    expect(running.end).not.toBeNull()
  })

  test('whose secret is missing changes nothing', async () => {
    const a = await backend(goodChat)
    const under = await router(poolOver([a.url]))
    await under.reconfigure(poolOver([a.url], { backend: { apiKey: '${NOT_THERE}' } }))
    expect((await under.sendRequest()).end).not.toBeNull()
  })

  test('at the start with a missing secret is refused by its name', async () => {
    await expect(
      startRouterUnderTest(poolOver(['http://127.0.0.1:9/v1'], { backend: { apiKey: '${NOT_THERE}' } })),
    ).rejects.toThrow('NOT_THERE')
  })
})

describe('a backend', () => {
  test('is called with its credential, its headers and the request’s id, uncompressed', async () => {
    const a = await backend(goodChat)
    const config = poolOver([a.url], { backend: { apiKey: '${GPU_KEY}', headers: { 'x-team': 'gateway ${TEAM}' } } })
    const under = await router(config, { GPU_KEY: 's3cret', TEAM: 'a' })
    await under.sendRequest()
    expect(a.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer s3cret',
      'x-team': 'gateway a',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })

  test('of the anthropic dialect gets a request for messages and its response is a chat completion', async () => {
    const a = await backend((response) =>
      sendJson(response, 200, {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude',
        content: [{ type: 'text', text: 'Bonjour' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 7, output_tokens: 2 },
      }),
    )
    const under = await router(poolOver([a.url], { backend: { dialect: 'anthropic', apiKey: 'k' } }))
    const job = await under.sendRequest({ defaultMaxTokens: 50 }, { messages: [{ role: 'user', content: 'Hello' }] })
    expect(a.seen[0]).toMatchObject({
      path: '/v1/messages',
      headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
      body: { max_tokens: 50 },
    })
    expect(JSON.parse(job.text())).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'Bonjour' } }],
    })
    expect(job.end?.usage).toMatchObject({ promptTokens: 7, completionTokens: 2 })
  })

  test('keeps a conversation where the pool keeps them', async () => {
    const backends = await Promise.all([1, 2, 3].map(() => backend(goodChat)))
    const equal = backends.map(() => ({ priority: 1 }))
    const under = await router(
      poolOver(
        backends.map(({ url }) => url),
        { targets: equal, pool: { affinity: 'conversation' } },
      ),
    )
    const served = new Set<string | undefined>()
    for (let i = 0; i < 6; i++) served.add((await under.sendRequest({ affinityKey: 'conversation-7' })).head?.backend)
    expect(served.size).toBe(1)
  })

  test('is not read faster than the client reads', async () => {
    let written = 0
    const a = await backend(async (response, _, socket) => {
      const gone = once(socket, 'close')
      openStream(response)
      response.write(ROLE)
      const event = chunk({ content: 'x', filler: 'x'.repeat(16_000) })
      for (let i = 0; i < 2_000 && !socket.destroyed; i++) {
        written += event.length
        if (!response.write(event)) await Promise.race([once(response, 'drain'), gone])
      }
      response.end(STOP + DONE)
    })
    const under = await router(poolOver([a.url]))
    const job = under.send({ stream: true, remainingMs: 30_000 })
    job.hold()
    await job.begun
    // Longer than the backend may be silent: a slow client is no silent backend.
    await new Promise((resolve) => setTimeout(resolve, 1_600))
    // 32 MB are offered; only the buffers of the two sockets in between may be filled.
    expect(written).toBeLessThan(16_000_000)
    const writtenWhileHeld = written
    job.release()
    await job.over
    expect(job.end).not.toBeNull()
    expect(written).toBeGreaterThan(writtenWhileHeld)
    expect(job.bytes().length).toBeGreaterThan(32_000_000)
  })
})

describe('a response that nobody wants any more', () => {
  test('is reset, so that its backend notices even where it is blocked in sending', async () => {
    const broken = Promise.withResolvers<Error>()
    const a = await backend((response, _, socket) => {
      socket.on('error', broken.resolve)
      openStream(response)
      response.write(ROLE + chunk({ content: 'one' }))
    })
    const under = await router(poolOver([a.url], { backend: { timeouts: { idleMs: 30_000 } } }))
    const job = under.send({ stream: true })
    await job.begun
    job.abort('stopped')
    expect(await broken.promise).toMatchObject({ code: 'ECONNRESET' })
    await a.seen[0]?.connectionClosed
  })
})

describe('stopping', () => {
  test('takes nothing new, and lets running jobs finish', async () => {
    let finish = () => {}
    const a = await backend((response) => {
      finish = () => sendJson(response, 200, completion())
    })
    const under = await startRouterUnderTest(poolOver([a.url], { backend: { timeouts: { firstByteMs: 5_000 } } }))
    const running = under.send()
    await expect.poll(() => a.seen.length, SOON).toBe(1)
    const late = under.keepTaker()
    const stopped = under[Symbol.asyncDispose]()
    expect(late().rejected).toBe('draining')
    finish()
    await stopped
    expect(running.end).not.toBeNull()
  })

  test('fails all open jobs when its time is over, and reports the shown text', async () => {
    const a = await backend((response) => {
      openStream(response)
      response.write(ROLE + chunk({ content: 'one two three' }))
    })
    const under = await startRouterUnderTest(poolOver([a.url], { backend: { timeouts: { idleMs: 30_000 } } }), {
      DRAIN_MS: '100',
    })
    const running = under.send({ stream: true, remainingMs: 30_000 })
    await running.begun
    await under[Symbol.asyncDispose]()
    // By the tokenizer, or by length where a stopping router has no time left to load it.
    expect([3, 4]).toContain(running.failure?.usage?.completionTokens)
  })

  test('reports the shown text of every stream, though more was shown than it has time left to count', async () => {
    // Text that the tokenizer takes long for: half a minute for all of it.
    const texts = Array.from({ length: 16 }, (_, seed) => hanText(seed, 130_000))
    const a = await backend((response, { body }) => {
      openStream(response)
      response.write(ROLE + chunk({ content: texts[Number(body['seed'])] }))
    })
    const under = await startRouterUnderTest(poolOver([a.url], { backend: { timeouts: { idleMs: 30_000 } } }), {
      DRAIN_MS: '100',
    })
    const jobs = texts.map((_, seed) => under.send({ stream: true, remainingMs: 30_000 }, { messages: [], seed }))
    await Promise.all(jobs.map(({ begun }) => begun))
    await under[Symbol.asyncDispose]()
    for (const { failure } of jobs) expect(failure?.usage?.completionTokens).toBeGreaterThanOrEqual(130_000 / 4)
  })
})

/** Chinese characters in no order, the same for the same seed. */
function hanText(seed: number, length: number): string {
  let state = seed + 1
  const next = () => (state = (state * 48_271) % 2_147_483_647)
  return Array.from({ length }, () => String.fromCharCode(0x4e00 + (next() % 20_000))).join('')
}
