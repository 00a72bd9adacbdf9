/**
 * What limits are promised to be: never passed, whichever edges the requests go to, and never in the way of traffic
 * that fits.
 */

import { describe, expect, test } from 'vitest'
import {
  ask,
  DEVELOPER_REQUESTS_PER_MINUTE,
  type Gateway,
  GUEST_LIMIT_TOKENS,
  GUEST_REQUESTS_PER_DAY,
  newDeveloper,
  newGuest,
  quotaOf,
  send,
} from './gateway.ts'

export function promiseLimits(gateway: () => Gateway): void {
  const chat = { model: 'svc-instant', messages: ask('Say: hi') }
  const edge = (turn: number) => gateway().urls[turn % gateway().urls.length]!

  describe('limits', () => {
    test('requests per minute hold over all edges, and say how long to wait', async () => {
      const { key } = await newDeveloper(gateway())
      const answers = await Promise.all(
        Array.from({ length: DEVELOPER_REQUESTS_PER_MINUTE + 10 }, (_, turn) =>
          send(edge(turn), '/v1/chat/completions', { key, body: chat }),
        ),
      )
      const refused = answers.filter(({ status }) => status !== 200)
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

    test('when the allowance is used up: 402 with the reset date and where to top up', async () => {
      const guest = await newGuest(gateway())
      const usage = { prompt_tokens: 10, completion_tokens: GUEST_LIMIT_TOKENS, total_tokens: GUEST_LIMIT_TOKENS + 10 }
      const { steadyA } = gateway().backends
      const dear = steadyA.fail({ usage, times: 1 })
      const { status } = await send(edge(0), '/v1/chat/completions', { key: guest.key, body: chat })
      dear.cancel()
      expect(status).toBe(200)
      await expect
        .poll(async () => (await quotaOf(guest, edge(0))).used, { timeout: 5_000 })
        .toBe(GUEST_LIMIT_TOKENS + 10)
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
          },
        })
        expect(refused.headers.get('x-should-retry')).toBe('false')
      }
      const record = await quotaOf(guest, edge(1))
      expect(record.remaining).toBeLessThanOrEqual(0)
    })
  })
}
