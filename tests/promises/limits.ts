/**
 * Promises about limits: no client passes them, at any of the edges, and they are never in the way of traffic that
 * fits.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  type Reply,
  userMessages,
  DEVELOPER_REQUESTS_PER_MINUTE,
  type OperatedGateway,
  GUEST_LIMIT_TOKENS,
  GUEST_REQUESTS_PER_DAY,
  NARROW_PLANS,
  newDeveloper,
  newDeveloperOn,
  newGuest,
  quotaOf,
  send,
} from './gateway.ts'

const HONEST_TO_MS = 50

export function promiseLimits(gateway: () => OperatedGateway): void {
  const chat = { model: 'svc-instant', messages: userMessages('Say: hi') }
  const edge = (turn: number) => gateway().urls[turn % gateway().urls.length]!

  describe('limits', () => {
    test('requests per minute hold over all edges, and say how long to wait', async () => {
      const { key } = await newDeveloper(gateway())
      const replies = await Promise.all(
        Array.from({ length: DEVELOPER_REQUESTS_PER_MINUTE + 10 }, (_, turn) =>
          send(edge(turn), '/v1/chat/completions', { key, body: chat }),
        ),
      )
      const refused = replies.filter(({ status }) => status !== 200)
      expect(refused).toHaveLength(10)
      for (const { status, body, headers } of refused) {
        expect(status).toBe(429)
        const error = body['error'] as { retry_after_ms: number }
        expect(error).toMatchObject({ code: 'rate_limit_exceeded', type: 'requests', docs: expect.any(String) })
        expect(error.retry_after_ms).toBeGreaterThan(40_000)
        expect(error.retry_after_ms).toBeLessThanOrEqual(60_000)
        expect(headers.get('retry-after-ms')).toBe(String(error.retry_after_ms))
        expect(headers.get('retry-after')).toBe(String(Math.ceil(error.retry_after_ms / 1000)))
      }
    })

    test('of 500 simultaneous requests over all edges, exactly 3 pass a limit of 3 per minute', async () => {
      const { key } = await newDeveloperOn(gateway(), NARROW_PLANS.threeAMinute.slug)
      const replies = await Promise.all(
        Array.from({ length: 500 }, (_, turn) => send(edge(turn), '/v1/chat/completions', { key, body: chat })),
      )
      const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b)
      expect(statuses).toEqual([...Array.from({ length: 3 }, () => 200), ...Array.from({ length: 497 }, () => 429)])
    })

    test('one request after another is never refused while it fits', async () => {
      const { key } = await newDeveloperOn(gateway(), NARROW_PLANS.threeAMinute.slug)
      const statuses = []
      for (let turn = 0; turn < 4; turn++) {
        statuses.push((await send(edge(turn), '/v1/chat/completions', { key, body: chat })).status)
      }
      expect(statuses).toEqual([200, 200, 200, 429])
    })

    test('waiting as long as a refusal says admits on any edge, and waiting 50 ms less does not', async () => {
      const { key } = await newDeveloperOn(gateway(), NARROW_PLANS.tokenAMillisecond.slug)
      const perMinute = NARROW_PLANS.tokenAMillisecond.tpm
      // Usage beyond a full bucket is a debt: a token comes back every millisecond.
      const usage = { prompt_tokens: perMinute, completion_tokens: 2_500, total_tokens: perMinute + 2_500 }
      const large = gateway().backends.steadyA.fail({ usage, times: 1 })
      await send(edge(0), '/v1/chat/completions', { key, body: chat })
      large.cancel()

      const tries: { sentAtMs: number; respondedAtMs: number; reply: Reply }[] = []
      do {
        const sentAtMs = performance.now()
        const reply = await send(edge(tries.length), '/v1/chat/completions', { key, body: chat })
        tries.push({ sentAtMs, respondedAtMs: performance.now(), reply })
        await sleep(20)
      } while (tries.at(-1)!.reply.status === 429)

      // The exact time of an edge's decision is unknown: it lies between the sending and the response.
      const [first, admitted] = [tries[0]!, tries.at(-1)!]
      const { type, retry_after_ms: waitMs } = first.reply.body['error'] as { type: string; retry_after_ms: number }
      expect([type, admitted.reply.status]).toEqual(['tokens', 200])
      expect(waitMs).toBeGreaterThan(1_000)
      expect(admitted.respondedAtMs).toBeGreaterThan(first.sentAtMs + waitMs - HONEST_TO_MS)
      expect(tries.at(-2)!.sentAtMs).toBeLessThan(first.respondedAtMs + waitMs + HONEST_TO_MS)
    })

    test('a client that hangs up in the middle waits for the generated tokens, as one that reads to the end', async () => {
      const { client, key } = await newDeveloperOn(gateway(), NARROW_PLANS.hundredTokensASecond.slug)
      const request = {
        model: 'svc-instant',
        messages: userMessages('30000 words'),
        max_tokens: 30_000,
        stream: true as const,
      }
      let seen = 0
      for await (const chunk of await client.chat.completions.create(request)) {
        if (chunk.choices[0]?.delta.content && ++seen === 12_000) break
      }
      const refusal = async () => {
        const { body } = await send(edge(1), '/v1/chat/completions', { key, body: chat })
        return body['error'] as { type: string; retry_after_ms: number } | undefined
      }
      await expect.poll(refusal).toMatchObject({ type: 'tokens' })
      // A bucket of 6,000 paid for some of them; a second for each hundred of the others.
      expect((await refusal())!.retry_after_ms).toBeGreaterThan(30_000)
    })

    test("a guest's requests per day hold over all edges", async () => {
      const { key } = await newGuest(gateway())
      for (let turn = 0; turn < GUEST_REQUESTS_PER_DAY; turn++) {
        const { status } = await send(edge(turn), '/v1/chat/completions', { key, body: chat })
        expect(status).toBe(200)
      }
      for (const url of gateway().urls) {
        const { status, body } = await send(url, '/v1/chat/completions', { key, body: chat })
        expect(status).toBe(429)
        expect(body).toMatchObject({ error: { code: 'rate_limit_exceeded', type: 'day' } })
      }
    })

    test('an allowance is passed by one request at the most, also by prompts whose size nobody knows beforehand', async () => {
      const { key } = await newDeveloperOn(gateway(), NARROW_PLANS.thousandTokens.slug)
      const usage = { prompt_tokens: 20_000, completion_tokens: 1, total_tokens: 20_001 }
      const long = gateway().backends.steadyA.fail({ usage })
      const content = [{ type: 'video_url', video_url: { url: 'https://a.test/film.mp4' } }]
      const film = { model: 'svc-instant', max_tokens: 1, messages: [{ role: 'user', content }] }
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, turn) => send(edge(turn), '/v1/chat/completions', { key, body: film })),
      )
      long.cancel()
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    })

    test('when the allowance is used up: 402 with the reset date and where to top up', async () => {
      const guest = await newGuest(gateway())
      const usage = { prompt_tokens: 10, completion_tokens: GUEST_LIMIT_TOKENS, total_tokens: GUEST_LIMIT_TOKENS + 10 }
      const { steadyA } = gateway().backends
      const dear = steadyA.fail({ usage, times: 1 })
      const { status } = await send(edge(0), '/v1/chat/completions', { key: guest.key, body: chat })
      dear.cancel()
      expect(status).toBe(200)
      await expect.poll(async () => (await quotaOf(guest, edge(0))).used).toBe(GUEST_LIMIT_TOKENS + 10)
      for (const url of gateway().urls) {
        const refused = await send(url, '/v1/chat/completions', { key: guest.key, body: chat })
        expect(refused.status).toBe(402)
        expect(refused.body).toEqual({
          error: {
            code: 'quota_exceeded',
            message: expect.any(String),
            resetDate: expect.stringMatching(/^\d{4}-\d{2}-01/),
            topupUrl: expect.stringMatching(/^https?:/),
            overageEnabled: false,
            scope: 'account',
          },
        })
        expect(refused.headers.get('x-should-retry')).toBe('false')
      }
      const record = await quotaOf(guest, edge(1))
      expect(record.remaining).toBeLessThanOrEqual(0)
    })
  })
}
