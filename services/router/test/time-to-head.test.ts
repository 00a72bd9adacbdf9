import { describe, expect, test } from 'vitest'
import { chunk, DONE, goodChat, openStream, ROLE, STOP, type Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const WORDS = ['one ', 'two ', 'three ', 'four ', 'five ', 'six ']

/** A stream of about seven seconds. */
const slowStream: Reply = async (response) => {
  openStream(response)
  response.write(ROLE)
  for (const word of WORDS) {
    response.write(chunk({ content: word }))
    await pause(1_200)
  }
  response.end(STOP + DONE)
}

describe('a client that waits only so long for the headers', () => {
  test('gets a stream whole that has begun by then', async () => {
    const a = await backend(slowStream)
    const job = await (await router(poolOver([a.url]))).sendRequest({ stream: true, headWithinMs: 5_000 })
    expect(job.failure).toBeNull()
    expect(job.text()).toContain('six')
    expect(job.end?.attempts).toMatchObject([{ outcome: 'served' }])
  })

  test("gets the second backend's response within that time, however long the first one would be waited for", async () => {
    const a = await backend(() => {})
    const b = await backend(goodChat)
    const startedAtMs = performance.now()
    const under = await router(poolOver([a.url, b.url], { backend: { timeouts: { firstByteMs: 60_000 } } }))
    const job = await under.sendRequest({ stream: true, headWithinMs: 6_000, remainingMs: 120_000 })
    expect(job.head?.backend).toBe('b')
    expect(performance.now() - startedAtMs).toBeLessThan(50_000)
  })

  test.each([true, false])(
    'gets its timeout when the time is up, and the backend is stopped (stream: %s)',
    async (stream) => {
      const a = await backend(() => {})
      const under = await router(poolOver([a.url], { backend: { timeouts: { firstByteMs: 30_000 } } }))
      const job = await under.sendRequest({ stream, headWithinMs: 500, remainingMs: 60_000 })
      expect(job.failure).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED', attempts: [{ outcome: 'out_of_time' }] })
      await a.seen[0]!.connectionClosed
    },
  )

  test.each([true, false])(
    'learns that it was its own time, pays for the work, and harms no backend (stream: %s)',
    async (stream) => {
      const [a, b] = [await backend(() => {}), await backend(() => {})]
      const under = await router(poolOver([a.url, b.url], { backend: { timeouts: { firstByteMs: 30_000 } } }))
      for (let i = 0; i < 4; i++) {
        const body = { messages: [{ role: 'user', content: `question ${i}` }] }
        const job = await under.sendRequest({ stream, headWithinMs: 200, remainingMs: 60_000 }, body)
        expect(job.failure).toMatchObject({ clientTimedOut: true, usage: { promptTokens: 11, estimated: true } })
        expect(job.failure!.attempts[0]!.backend).toBe('a')
      }
    },
  )

  test.each([
    ['its time is the whole request’s', { remainingMs: 300 }, () => {}],
    ['its backends fail before', { headWithinMs: 20_000 }, (response) => response.writeHead(500).end()],
  ] as [string, object, Reply][])('gets no such failure where %s', async (_, header, reply) => {
    const a = await backend(reply)
    const { failure } = await (await router(poolOver([a.url]))).sendRequest(header)
    expect(failure?.code).toBe('UPSTREAMS_EXHAUSTED')
    expect(failure?.clientTimedOut).toBeUndefined()
    expect(failure?.usage).toBeUndefined()
  })
})
