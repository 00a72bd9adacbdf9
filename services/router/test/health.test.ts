import { describe, expect, test } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  chunk,
  completion,
  goodChat,
  openStream,
  ROLE,
  sendJson,
  completeStream,
  WORDS,
  type Reply,
} from './http-backend.ts'
import type { FakeJob } from './fake-job.ts'
import { backend, router, SOON } from './open.ts'
import { poolOver } from './router-under-test.ts'

const fails = (code: number, headers: Record<string, string> = {}): Reply => {
  return (response) => sendJson(response, code, { error: 'no' }, headers)
}

describe('a failing backend', () => {
  test('is spared after three failures in a row, then probed, tried with one request, and taken back', async () => {
    const a = await backend(fails(500))
    const b = await backend(goodChat)
    const under = await router(poolOver([a.url, b.url]))
    for (let i = 0; i < 6; i++) expect((await under.sendRequest()).head?.backend).toBe('b')
    expect(a.seen).toHaveLength(3)

    a.reply = goodChat
    await expect.poll(() => a.probes, SOON).toBeGreaterThan(0)
    await expect.poll(async () => (await under.sendRequest()).head?.backend, SOON).toBe('a')
  })

  test('with a wrong credential is spared after one', async () => {
    const a = await backend(fails(401))
    const b = await backend(goodChat)
    const under = await router(poolOver([a.url, b.url]))
    for (let i = 0; i < 4; i++) await under.sendRequest()
    expect(a.seen).toHaveLength(1)
  })

  test('that is the only one is still called rather than given up', async () => {
    const a = await backend(fails(401))
    const under = await router(poolOver([a.url]))
    for (let i = 0; i < 3; i++) expect((await under.sendRequest()).failure?.code).toBe('UPSTREAMS_EXHAUSTED')
    expect(a.seen).toHaveLength(3)
    a.reply = goodChat
    expect((await under.sendRequest()).end).not.toBeNull()
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
    for (let i = 0; i < 3; i++) expect((await under.sendRequest()).head?.backend).toBe('b')
    expect((await under.sendRequest({ pool: 'other' })).head?.backend).toBe('a')
    expect(a.seen.map(({ body }) => body.model)).toEqual(['gone', 'here'])
  })

  test('that requests a pause is left alone, and its rate limit is no failure of it', async () => {
    const a = await backend(fails(429, { 'retry-after-ms': '400' }))
    const b = await backend(goodChat)
    const under = await router(poolOver([a.url, b.url]))
    await under.sendRequest()
    a.reply = goodChat
    expect((await under.sendRequest()).head?.backend).toBe('b')
    await expect.poll(async () => (await under.sendRequest()).head?.backend, SOON).toBe('a')
    expect(a.probes).toBe(0)
  })
})

describe('backends that are back', () => {
  const equals = { targets: [{ priority: 1 }, { priority: 1 }] }
  /** Responds when the test lets it. */
  const held = (replies: (() => void)[]): Reply => {
    return (response) => void replies.push(() => sendJson(response, 200, completion()))
  }

  test('after an outage of all share the work again, also those that were called while they were out', async () => {
    const [a, b] = [await backend(fails(401)), await backend(fails(401))]
    const under = await router(poolOver([a.url, b.url], equals))
    for (let i = 0; i < 3; i++) expect((await under.sendRequest()).failure?.code).toBe('UPSTREAMS_EXHAUSTED')
    a.reply = b.reply = goodChat
    await sleep(1_500)
    for (let i = 0; i < 10; i++) expect((await under.sendRequest()).end).not.toBeNull()

    const replies: (() => void)[] = []
    a.reply = b.reply = held(replies)
    const [atA, atB] = [a.seen.length, b.seen.length]
    const jobs = Array.from({ length: 20 }, () => under.send())
    await expect.poll(() => replies.length, SOON).toBe(20)
    expect([a.seen.length - atA, b.seen.length - atB]).toEqual([10, 10])
    for (const reply of replies) reply()
    await Promise.all(jobs.map((job) => job.over))
    expect(jobs.every((job) => job.end)).toBe(true)
  })

  test('take their share from the first content of a half-open attempt, however long its response is', async () => {
    const [a, b] = [await backend(fails(401)), await backend(goodChat)]
    const under = await router(poolOver([a.url, b.url], equals))
    await expect.poll(async () => (await under.sendRequest()).end?.attempts[0]?.outcome, SOON).toBe('http_401')
    const ends: (() => void)[] = []
    a.reply = (response) => {
      openStream(response)
      response.write(ROLE + chunk({ content: 'Once upon a time' }))
      ends.push(() => response.end(completeStream().slice(ROLE.length)))
    }
    const halfOpenAttempt = await beginsAt('a', () => under.send({ stream: true, remainingMs: 30_000 }))

    const replies: (() => void)[] = []
    a.reply = b.reply = held(replies)
    const jobs = Array.from({ length: 5 }, () => under.send())
    await expect.poll(() => replies.length, SOON).toBe(5)
    expect(halfOpenAttempt.end).toBeNull()
    for (const reply of [...replies, ...ends]) reply()
    await Promise.all([...jobs, halfOpenAttempt].map((job) => job.over))
    expect(jobs.filter(({ head }) => head?.backend === 'a')).toHaveLength(2)
    expect(halfOpenAttempt.end).not.toBeNull()
  })

  test('are tried by one request only when many come at once', async () => {
    const [a, b] = [await backend(fails(401)), await backend(goodChat)]
    const under = await router(poolOver([a.url, b.url], equals))
    await expect.poll(async () => (await under.sendRequest()).end?.attempts[0]?.outcome, SOON).toBe('http_401')
    const requested = a.seen.length
    await sleep(1_500)
    const jobs = Array.from({ length: 6 }, () => under.send())
    await Promise.all(jobs.map((job) => job.over))
    expect(jobs.every((job) => job.end)).toBe(true)
    expect(a.seen.length - requested).toBe(1)
  })

  test('with a credential that may not list models come back all the same', async () => {
    const [a, b] = [await backend(fails(401)), await backend(goodChat)]
    a.refusesProbes = true
    const under = await router(poolOver([a.url, b.url], equals))
    await expect.poll(async () => (await under.sendRequest()).end?.attempts[0]?.outcome, SOON).toBe('http_401')
    a.reply = goodChat
    await expect.poll(async () => (await under.sendRequest()).head?.backend, SOON).toBe('a')
  })
})

/** Sends jobs until one has its first content from the backend; the others are over. */
async function beginsAt(id: string, send: () => FakeJob): Promise<FakeJob> {
  for (;;) {
    const job = send()
    await job.begun
    if (job.head?.backend === id) return job
    await job.over
    await sleep(50)
  }
}

describe('repeats', () => {
  test('a passing failure of the only backend does not reach the client', async () => {
    let calls = 0
    const a = await backend((response, request, socket) =>
      ++calls === 1 ? socket.destroy() : goodChat(response, request, socket),
    )
    const job = await (await router(poolOver([a.url]))).sendRequest({ stream: true })
    expect(job.end?.attempts.map(({ outcome }) => outcome)).toEqual(['reset', 'served'])
  })

  test('a short retry-after of the only backend is waited out', async () => {
    let calls = 0
    const a = await backend((response, request, socket) =>
      ++calls === 1 ? sendJson(response, 429, {}, { 'retry-after-ms': '300' }) : goodChat(response, request, socket),
    )
    const startedAtMs = performance.now()
    const job = await (await router(poolOver([a.url]))).sendRequest()
    expect(job.end).not.toBeNull()
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(290)
  })

  test('a dead pool is not buried under them', async () => {
    const a = await backend(fails(500))
    const under = await router(poolOver([a.url]))
    for (let i = 0; i < 30; i++) await under.sendRequest()
    expect(a.seen.length).toBeLessThanOrEqual(30 + 13)
  })
})

describe('time', () => {
  test('a hanging target leaves the rest of the time to the others', async () => {
    const a = await backend(() => {})
    const b = await backend(goodChat)
    const under = await router(poolOver([a.url, b.url], { backend: { timeouts: { firstByteMs: 60_000 } } }))
    const job = await under.sendRequest({ remainingMs: 6_000 })
    expect(job.end?.attempts.map(({ outcome }) => outcome)).toEqual(['out_of_time', 'served'])
  })

  const slow: Reply = (response, request, socket) =>
    void setTimeout(() => goodChat(response, request, socket), 900).unref()
  const impatient = { backend: { timeouts: { firstByteMs: 250, idleMs: 250 } } }
  const outcomes = (job: FakeJob) => job.end?.attempts.map(({ backend, outcome }) => `${backend} ${outcome}`)

  test('a plain response that takes longer than any first byte may is waited for where nobody else is left', async () => {
    const [a, b] = [await backend(slow), await backend(slow)]
    const job = await (await router(poolOver([a.url, b.url], impatient))).sendRequest()
    expect(outcomes(job)).toEqual(['a first_byte_timeout', 'b served'])
    const lone = await (await router(poolOver([a.url], impatient))).sendRequest()
    expect(outcomes(lone)).toEqual(['a served'])
  })

  test('a slow target that was left for dead ones is called again and waited for', async () => {
    const [a, b] = [await backend(slow), await backend(fails(401))]
    const job = await (await router(poolOver([a.url, b.url], impatient))).sendRequest()
    expect(outcomes(job)).toEqual(['a first_byte_timeout', 'b http_401', 'a served'])
  })

  const thinks =
    (forMs: number): Reply =>
    (response) => {
      openStream(response)
      setTimeout(() => response.end(completeStream()), forMs).unref()
    }
  const streamed = { stream: true }
  const words = (count: number) => WORDS.slice(0, count).map((word) => chunk({ content: word }))

  test('a stream whose headers come at once may think until its first byte is due', async () => {
    const [a, b] = [await backend(thinks(900)), await backend(goodChat)]
    const longTimeouts = { backend: { timeouts: { firstByteMs: 5_000, idleMs: 250 } } }
    expect(outcomes(await (await router(poolOver([a.url, b.url], longTimeouts))).sendRequest(streamed))).toEqual([
      'a served',
    ])
  })

  test('a stream is waited for, headers or none, where nobody else is left', async () => {
    for (const reply of [thinks(900), slow]) {
      const a = await backend(reply)
      expect(outcomes(await (await router(poolOver([a.url], impatient))).sendRequest(streamed))).toEqual(['a served'])
    }
  })

  test('a stream that never begins ends with the request where nobody else is left', async () => {
    const a = await backend(() => {})
    const job = await (await router(poolOver([a.url], impatient))).sendRequest({ stream: true, remainingMs: 1_000 })
    expect(job.failure?.attempts.map(({ outcome }) => outcome)).toEqual(['out_of_time'])
    expect(job.failure?.attempts[0]?.durationMs).toBeGreaterThan(900)
  })

  test('a stream that says nothing but comments before its first content is left for another target', async () => {
    const a = await backend((response) => {
      openStream(response)
      const beat = setInterval(() => response.write(': still here\n\n'), 50)
      response.on('close', () => clearInterval(beat))
    })
    const b = await backend(goodChat)
    const job = await (await router(poolOver([a.url, b.url], impatient))).sendRequest(streamed)
    expect(outcomes(job)).toEqual(['a first_byte_timeout', 'b served'])
  })

  test.each([
    { sign: 'comments', text: ': still here\n\n' },
    { sign: 'empty deltas', text: chunk({ content: '' }) },
  ])('$sign between two pieces are signs of life', async ({ text }) => {
    const a = await backend(async (response) => {
      openStream(response)
      response.write(ROLE + words(1).join(''))
      for (let i = 0; i < 16; i++) {
        await sleep(75)
        response.write(text)
      }
      response.end(completeStream().slice(ROLE.length))
    })
    expect(
      outcomes(
        await (await router(poolOver([a.url], { backend: { timeouts: { idleMs: 600 } } }))).sendRequest(streamed),
      ),
    ).toEqual(['a served'])
  })

  test('a slow stream is not left for a target that is full, and it is for one that has a place again', async () => {
    const replies: (() => void)[] = []
    const a = await backend(thinks(900))
    const b = await backend((response) => void replies.push(() => sendJson(response, 200, completion())))
    const config = poolOver([a.url, b.url], impatient)
    config.backends[1]!.maxConcurrent = 1
    const targets = [{ backend: 'b', model: 'model-b', priority: 1, weight: 1 }]
    config.pools.push({ id: 'other', affinity: 'none', targets })
    const under = await router(config)
    const holder = under.send({ pool: 'other' })
    await expect.poll(() => b.seen.length, SOON).toBe(1)
    expect(outcomes(await under.sendRequest(streamed))).toEqual(['a served'])

    a.reply = () => {}
    b.reply = goodChat
    const late = under.send(streamed)
    await sleep(500)
    replies.shift()?.()
    await Promise.all([holder.over, late.over])
    expect(outcomes(late)).toEqual(['a first_byte_timeout', 'b served'])
  })

  test.each([{ stream: true }, { stream: false }])(
    'a pool that is merely slow spares nobody ($stream)',
    async (mode) => {
      const [a, b] = [await backend(slow), await backend(slow)]
      const under = await router(poolOver([a.url, b.url], impatient))
      for (let i = 0; i < 5; i++)
        expect(outcomes(await under.sendRequest(mode))).toEqual(['a first_byte_timeout', 'b served'])
    },
  )

  test('a target that hangs beside a fast one is spared after three', async () => {
    const [a, b] = [await backend(() => {}), await backend(goodChat)]
    const under = await router(poolOver([a.url, b.url], impatient))
    for (let i = 0; i < 5; i++) expect((await under.sendRequest(streamed)).head?.backend).toBe('b')
    expect(a.seen).toHaveLength(3)
  })

  test('a slow stream is not left for a target that cannot hold its prompt', async () => {
    const [a, b] = [await backend(thinks(900)), await backend(goodChat)]
    const config = poolOver([a.url, b.url], { ...impatient, targets: [{}, { contextWindow: 10 }] })
    expect(outcomes(await (await router(config)).sendRequest(streamed))).toEqual(['a served'])
  })

  test.each([
    { which: 'answers', reply: goodChat, expected: ['a first_byte_timeout', 'b served'] },
    { which: 'hangs', reply: () => {}, expected: ['a first_byte_timeout', 'b first_byte_timeout', 'a served'] },
  ])('a slow stream moves to a half-open attempt at a target that is back and $which', async ({ reply, expected }) => {
    const [a, b] = [await backend(thinks(2_000)), await backend(fails(401))]
    const under = await router(poolOver([a.url, b.url], { ...impatient, targets: [{ priority: 1 }, { priority: 2 }] }))
    const out = under.send({ stream: true, remainingMs: 20_000 })
    await expect.poll(() => b.seen.length, SOON).toBe(1)
    b.reply = reply
    expect(outcomes(await under.sendRequest({ stream: true, remainingMs: 20_000 }))).toEqual(expected)
    await out.over
    expect(outcomes(out)).toEqual(['a first_byte_timeout', 'b http_401', 'a served'])
  })

  test('a target that hangs until its clients leave is spared after three, if another responds meanwhile', async () => {
    const a = await backend(() => {})
    const b = await backend((response) => {
      openStream(response)
      response.write(ROLE + words(1).join(''))
    })
    const config = poolOver([a.url, b.url], impatient)
    config.backends[1]!.maxConcurrent = 1
    config.backends[1]!.timeouts.idleMs = 5_000
    const targets = [{ backend: 'b', model: 'model-b', priority: 1, weight: 1 }]
    config.pools.push({ id: 'other', affinity: 'none', targets })
    const under = await router(config)
    for (let i = 0; i < 3; i++) {
      const waiting = under.send(streamed)
      await expect.poll(() => a.seen.length, SOON).toBe(i + 1)
      const busy = under.send({ ...streamed, pool: 'other' })
      await busy.begun
      await sleep(400)
      waiting.abort('stopped')
      busy.abort('stopped')
      await b.seen[i]!.connectionClosed
    }
    b.reply = goodChat
    expect(outcomes(await under.sendRequest(streamed))).toEqual(['b served'])
  })

  test('a slow stream that was left for a dead target is tried again and waited for', async () => {
    const [a, b] = [await backend(thinks(900)), await backend(fails(401))]
    const job = await (await router(poolOver([a.url, b.url], impatient))).sendRequest(streamed)
    expect(outcomes(job)).toEqual(['a first_byte_timeout', 'b http_401', 'a served'])
  })

  test('that is up gets a timeout, and no backend is left working', async () => {
    const a = await backend(() => {})
    const under = await router(poolOver([a.url], { backend: { timeouts: { firstByteMs: 60_000 } } }))
    const job = await under.sendRequest({ remainingMs: 300 })
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
    expect((await under.sendRequest({ promptTokensEstimate: 500 })).head?.backend).toBe('b')
  })

  test('that a target refuses as too long is tried on a larger one before the client hears of it', async () => {
    const a = await backend((response) => sendJson(response, 400, { error: { code: 'context_length_exceeded' } }))
    const b = await backend(goodChat)
    const under = await router(
      poolOver([a.url, b.url], { targets: [{ contextWindow: 4_096 }, { contextWindow: 32_768 }] }),
    )
    expect((await under.sendRequest()).head?.backend).toBe('b')
  })

  test('with needs that no backend meets is refused, and no backend is called', async () => {
    const a = await backend(goodChat)
    const job = await (await router(poolOver([a.url]))).sendRequest({ needs: ['chat', 'vision'] })
    expect(job.failure).toMatchObject({ code: 'BACKEND_REFUSED', attempted: [] })
    expect(a.seen).toHaveLength(0)
  })
})
