/**
 * Promises about a bill: tokens times the multiplier, once per request, for the content that the client saw.
 */

import { describe, expect, test } from 'vitest'
import {
  userMessages,
  type Caller,
  type Gateway,
  newDeveloper,
  newGuest,
  newLane,
  quotaOf,
  send,
  sendRaw,
} from './gateway.ts'

/** The time that a request may take to appear in the quota record. */
const SETTLED = { timeout: 60_000, interval: 50 }

export function promiseMetering(gateway: () => Gateway): void {
  const usedOf = async (caller: Caller) => (await quotaOf(caller, gateway().urls[0])).used

  describe('metering', () => {
    test('the quota record of a fresh key', async () => {
      const guest = await newGuest(gateway())
      const record = await quotaOf(guest, gateway().urls[0])
      expect(record).toMatchObject({
        object: 'quota',
        planSlug: 'guest-device',
        used: 0,
        unit: 'tokens',
        source: 'ledger',
      })
      expect(record.remaining).toBe(record.limit)
      expect(record.keyPrefix).toBe(`${guest.key.slice(0, 12)}…`)
      const reset = new Date(record.resetAt)
      expect([reset.getUTCDate(), reset.getUTCHours(), reset.getUTCMinutes()]).toEqual([1, 0, 0])
    })

    test.each([
      ['svc-instant', 1],
      ['svc-fast', 1.5],
      ['svc-core', 3.75],
      ['svc-pro', 6.7],
      ['svc-research', 2.3],
      ['svc-max', 13.3],
      ['svc-code', 1],
      ['svc-vision', 1.25],
      ['svc-agent', 1],
      ['svc-chat-md', 1.5],
      ['svc-ultra-pro', 6.7],
    ])('a request to %s uses its tokens times %d', async (model, multiplier) => {
      const developer = await newDeveloper(gateway())
      const { usage } = await developer.client.chat.completions.create({
        model,
        messages: userMessages('Say: hello there'),
      })
      await expect.poll(() => usedOf(developer), SETTLED).toBeCloseTo(usage!.total_tokens * multiplier, 3)
    })

    test('a request to svc-best is billed at the lane that it was routed to', async () => {
      const multipliers: Record<string, number> = {
        'svc-instant': 1,
        'svc-fast': 1.5,
        'svc-core': 3.75,
        'svc-pro': 6.7,
        'svc-research': 2.3,
        'svc-code': 1,
      }
      const developer = await newDeveloper(gateway())
      const { data, response } = await developer.client.chat.completions
        .create({ model: 'svc-best', messages: userMessages('Say: hello there') })
        .withResponse()
      const lane = response.headers.get('x-svc-smart-route')!.split(';')[0]!
      await expect.poll(() => usedOf(developer), SETTLED).toBeCloseTo(data.usage!.total_tokens * multipliers[lane]!, 3)
    })

    test('streams are metered alike, with or without a request for usage', async () => {
      const developer = await newDeveloper(gateway())
      const request = { model: 'svc-core', messages: userMessages('Say: hello there'), stream: true as const }
      for await (const chunk of await developer.client.chat.completions.create(request)) void chunk
      let total = 0
      const withUsage = { ...request, stream_options: { include_usage: true } }
      for await (const chunk of await developer.client.chat.completions.create(withUsage)) {
        total += chunk.usage?.total_tokens ?? 0
      }
      await expect.poll(() => usedOf(developer), SETTLED).toBeCloseTo(2 * total * 3.75, 3)
    })

    test('embeddings and images are metered', async () => {
      const developer = await newDeveloper(gateway())
      const embedded = await developer.client.embeddings.create({ model: 'svc-embed', input: 'some text' })
      const drawn = await developer.client.images.generate({ model: 'svc-image', prompt: 'a boat', size: '256x256' })
      await expect
        .poll(() => usedOf(developer), SETTLED)
        .toBeCloseTo(embedded.usage.total_tokens + drawn.usage!.total_tokens, 3)
    })

    test('the headers of the next response know of the last', async () => {
      const developer = await newDeveloper(gateway())
      const request = { model: 'svc-instant', messages: userMessages('Say: hello there') }
      const first = await developer.client.chat.completions.create(request)
      const second = await developer.client.chat.completions.create(request).withResponse()
      const used = Number(second.response.headers.get('x-svc-quota-used'))
      expect(used).toBeGreaterThanOrEqual(first.usage!.total_tokens)
      expect(used).toBeLessThanOrEqual(first.usage!.total_tokens * 2)
    })

    test('a client that leaves in the middle of a stream pays for the generated tokens, and the backend is stopped', async () => {
      const developer = await newDeveloper(gateway())
      const { steadyA } = gateway().backends
      const slow = steadyA.fail({ paceMs: 50, times: 1 })
      const request = { model: 'svc-instant', messages: userMessages('900 words'), stream: true as const }
      let seen = 0
      for await (const chunk of await developer.client.chat.completions.create(request)) {
        if (chunk.choices[0]?.delta.content && ++seen === 5) break
      }
      slow.cancel()
      const call = steadyA.calls.at(-1)!
      await expect.poll(() => call.outcome).toBe('aborted')
      await expect.poll(() => usedOf(developer), SETTLED).toBeGreaterThan(seen)
      // The backend reported no usage, so the gateway counted, with a tokenizer of its own.
      expect(await usedOf(developer)).toBeLessThanOrEqual(2 * (call.chunksSent + call.usage!.prompt_tokens!))
    })

    test('where a backend reports no usage, the gateway counts', async () => {
      const { frail } = gateway().backends
      for (const stream of [false, true]) {
        const developer = await newDeveloper(gateway())
        const { model, first } = newLane(gateway())
        frail.fail({ backend: first, noUsage: true })
        const body = { model, messages: userMessages('100 words'), stream }
        await (await sendRaw(gateway().urls[0], '/v1/chat/completions', { key: developer.key, body })).text()
        // A hundred words are a hundred tokens and more with any tokenizer, and not twice as many.
        await expect.poll(() => usedOf(developer), SETTLED).toBeGreaterThan(100)
        expect(await usedOf(developer)).toBeLessThan(220)
      }
    })

    test('a refused or failed request costs nothing', async () => {
      const developer = await newDeveloper(gateway())
      const [refusing, failing] = [newLane(gateway()), newLane(gateway())]
      const { frail } = gateway().backends
      frail.fail({ backend: refusing.first, status: 400 })
      frail.fail({ backend: failing.first, status: 500 })
      frail.fail({ backend: failing.second, status: 500 })
      const statuses = []
      for (const model of [refusing.model, failing.model, 'svc-nothing']) {
        const body = { model, messages: userMessages('Say: hi') }
        statuses.push((await send(gateway().urls[0], '/v1/chat/completions', { key: developer.key, body })).status)
      }
      expect(statuses).toEqual([400, 503, 404])
      const { usage } = await developer.client.chat.completions.create({
        model: 'svc-code',
        messages: userMessages('Say: hi'),
      })
      await expect.poll(() => usedOf(developer), SETTLED).toBe(usage!.total_tokens)
    })

    test('the attempt that the client saw is billed, not the one that failed before it', async () => {
      const developer = await newDeveloper(gateway())
      const lane = newLane(gateway())
      const usage = { prompt_tokens: 9_000, completion_tokens: 9_000, total_tokens: 18_000 }
      gateway().backends.frail.fail({ backend: lane.first, usage, truncatedJson: true })
      const reply = await developer.client.chat.completions.create({
        model: lane.model,
        messages: userMessages('Say: hi'),
      })
      await expect.poll(() => usedOf(developer), SETTLED).toBe(reply.usage!.total_tokens)
    })
  })
}
