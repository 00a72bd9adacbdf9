import { describe, expect, test } from 'vitest'
import { completion, goodChat, sendJson, type Answer } from './http-backend.ts'
import type { FakeJob } from './fake-job.ts'
import { backend, router, SOON } from './open.ts'
import { poolOver } from './router-under-test.ts'

const fails = (code: number, headers: Record<string, string> = {}): Answer => {
  return (response) => sendJson(response, code, { error: 'no' }, headers)
}

describe('a failing backend', () => {
  test('is spared after three failures in a row, then probed, tried with one request, and taken back', async () => {
    const a = await backend(fails(500))
    const b = await backend(goodChat)
    const under = await router(poolOver([a.url, b.url]))
    for (let i = 0; i < 6; i++) expect((await under.ask()).head?.backend).toBe('b')
    expect(a.seen).toHaveLength(3)

    a.answer = goodChat
    await expect.poll(() => a.probes, SOON).toBeGreaterThan(0)
    await expect.poll(async () => (await under.ask()).head?.backend, SOON).toBe('a')
  })

  test('with a wrong credential is spared after one', async () => {
    const a = await backend(fails(401))
    const b = await backend(goodChat)
    const under = await router(poolOver([a.url, b.url]))
    for (let i = 0; i < 4; i++) await under.ask()
    expect(a.seen).toHaveLength(1)
  })

  test('that is the only one is still asked rather than given up', async () => {
    const a = await backend(fails(401))
    const under = await router(poolOver([a.url]))
    for (let i = 0; i < 3; i++) expect((await under.ask()).failure?.code).toBe('UPSTREAMS_EXHAUSTED')
    expect(a.seen).toHaveLength(3)
    a.answer = goodChat
    expect((await under.ask()).end).not.toBeNull()
  })

  test('without a model is spared for that model only', async () => {
    const a = await backend((response, request) =>
      request.body.model === 'gone'
        ? sendJson(response, 404, { error: 'no such model' })
        : sendJson(response, 200, completion()),
    )
    const b = await backend(goodChat)
    const config = poolOver([a.url, b.url], { targets: [{ model: 'gone' }] })
    config.pools.push({
      id: 'other',
      affinity: 'none',
      targets: [{ backend: 'a', model: 'here', priority: 1, weight: 1 }],
    })
    const under = await router(config)
    for (let i = 0; i < 3; i++) expect((await under.ask()).head?.backend).toBe('b')
    expect((await under.ask({ pool: 'other' })).head?.backend).toBe('a')
    expect(a.seen.map(({ body }) => body.model)).toEqual(['gone', 'here'])
  })

  test('that asks to be left alone is left alone, and its rate limit is no failure of it', async () => {
    const a = await backend(fails(429, { 'retry-after-ms': '400' }))
    const b = await backend(goodChat)
    const under = await router(poolOver([a.url, b.url]))
    await under.ask()
    a.answer = goodChat
    expect((await under.ask()).head?.backend).toBe('b')
    await expect.poll(async () => (await under.ask()).head?.backend, SOON).toBe('a')
    expect(a.probes).toBe(0)
  })
})

describe('repeats', () => {
  test('a passing failure of the only backend does not reach the client', async () => {
    let calls = 0
    const a = await backend((response, request, socket) =>
      ++calls === 1 ? socket.destroy() : goodChat(response, request, socket),
    )
    const job = await (await router(poolOver([a.url]))).ask({ stream: true })
    expect(job.end?.attempts.map(({ outcome }) => outcome)).toEqual(['reset', 'served'])
  })

  test('a short retry-after of the only backend is waited out', async () => {
    let calls = 0
    const a = await backend((response, request, socket) =>
      ++calls === 1 ? sendJson(response, 429, {}, { 'retry-after-ms': '300' }) : goodChat(response, request, socket),
    )
    const startedAt = performance.now()
    const job = await (await router(poolOver([a.url]))).ask()
    expect(job.end).not.toBeNull()
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(290)
  })

  test('a dead pool is not buried under them', async () => {
    const a = await backend(fails(500))
    const under = await router(poolOver([a.url]))
    for (let i = 0; i < 30; i++) await under.ask()
    expect(a.seen.length).toBeLessThanOrEqual(30 + 13)
  })
})

describe('time', () => {
  test('a hanging target leaves the rest of the time to the others', async () => {
    const a = await backend(() => {})
    const b = await backend(goodChat)
    const under = await router(poolOver([a.url, b.url], { backend: { timeouts: { firstByteMs: 60_000 } } }))
    const job = await under.ask({ remainingMs: 1_000 })
    expect(job.end?.attempts.map(({ outcome }) => outcome)).toEqual(['out_of_time', 'served'])
    expect(job.end?.attempts[0]?.durationMs).toBeLessThan(900)
  })

  const slow: Answer = (response, request, socket) =>
    void setTimeout(() => goodChat(response, request, socket), 900).unref()
  const impatient = { backend: { timeouts: { firstByteMs: 250, idleMs: 250 } } }
  const outcomes = (job: FakeJob) => job.end?.attempts.map(({ backend, outcome }) => `${backend} ${outcome}`)

  test('a plain answer that takes longer than any first byte may is waited for where nobody else is left', async () => {
    const [a, b] = [await backend(slow), await backend(slow)]
    const job = await (await router(poolOver([a.url, b.url], impatient))).ask()
    expect(outcomes(job)).toEqual(['a first_byte_timeout', 'b served'])
    const lone = await (await router(poolOver([a.url], impatient))).ask()
    expect(outcomes(lone)).toEqual(['a served'])
  })

  test('a slow target that was left for dead ones is asked again and waited for', async () => {
    const [a, b] = [await backend(slow), await backend(fails(401))]
    const job = await (await router(poolOver([a.url, b.url], impatient))).ask()
    expect(outcomes(job)).toEqual(['a first_byte_timeout', 'b http_401', 'a served'])
  })

  test('a stream that stays silent is given up even where nobody else is left', async () => {
    const a = await backend(() => {})
    const job = await (await router(poolOver([a.url], impatient))).ask({ stream: true })
    expect(job.failure?.attempts.map(({ outcome }) => outcome)).toEqual(['first_byte_timeout'])
  })

  test('that is up is told, and no backend is left working', async () => {
    const a = await backend(() => {})
    const under = await router(poolOver([a.url], { backend: { timeouts: { firstByteMs: 60_000 } } }))
    const job = await under.ask({ remainingMs: 300 })
    expect(job.failure).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED', attempted: ['a'] })
    await a.seen[0]?.connectionClosed
  })
})

describe('a prompt', () => {
  test('that one target cannot hold goes to the one that can', async () => {
    const a = await backend(goodChat)
    const b = await backend(goodChat)
    const under = await router(
      poolOver([a.url, b.url], { targets: [{ contextWindow: 100 }, { contextWindow: 10_000 }] }),
    )
    expect((await under.ask({ promptTokensEstimate: 500 })).head?.backend).toBe('b')
  })

  test('that a target refuses as too long is tried on a larger one before the client hears of it', async () => {
    const a = await backend((response) => sendJson(response, 400, { error: { code: 'context_length_exceeded' } }))
    const b = await backend(goodChat)
    const under = await router(
      poolOver([a.url, b.url], { targets: [{ contextWindow: 4_096 }, { contextWindow: 32_768 }] }),
    )
    expect((await under.ask()).head?.backend).toBe('b')
  })

  test('with needs that no backend meets is refused, and nobody is asked', async () => {
    const a = await backend(goodChat)
    const job = await (await router(poolOver([a.url]))).ask({ needs: ['chat', 'vision'] })
    expect(job.failure).toMatchObject({ code: 'BACKEND_REFUSED', attempted: [] })
    expect(a.seen).toHaveLength(0)
  })
})
