/**
 * Promises to owners about their usage over time: the ledger's own sums, for a key and for a person who signed in.
 */

import { type UsageRecord, usageRecord } from '@gateway/contracts/usage-api'
import { describe, expect, test } from 'vitest'
import { userMessages, type Gateway, manageKeys, newDeveloper, newGuest, quotaOf, send, signInAs } from './gateway.ts'

/** The time that a request may take to appear. */
const SETTLED = { timeout: 60_000, interval: 50 }

export function promiseUsage(gateway: () => Gateway): void {
  const usageOf = async (bearer: string, query = '', url = gateway().urls[0]): Promise<UsageRecord> => {
    const { status, body } = await send(url, `/v1/usage${query}`, { key: bearer })
    expect([status, body]).toEqual([200, expect.anything()])
    return usageRecord.parse(body)
  }
  const requestsOf = async (bearer: string) => (await usageOf(bearer)).totals.requests
  const today = () => new Date().toISOString().slice(0, 10)

  describe('usage over time', () => {
    test('by day and by model it is the sum of the responses, for the key and for its owner, on every edge', async () => {
      const developer = await newDeveloper(gateway())
      const used: Record<string, { requests: number; tokens: number }> = {}
      for (const model of ['svc-core', 'svc-instant', 'svc-core']) {
        const { usage } = await developer.client.chat.completions.create({
          model,
          messages: userMessages('Say: hello there'),
        })
        const of = (used[model] ??= { requests: 0, tokens: 0 })
        of.requests++
        of.tokens += usage!.total_tokens
      }
      await expect.poll(() => requestsOf(developer.key), SETTLED).toBe(3)
      const { used: charged } = await quotaOf(developer, gateway().urls[0])
      for (const bearer of [developer.key, developer.token]) {
        for (const url of gateway().urls) {
          const byModel = await usageOf(bearer, `?group_by=model&to=${today()}`, url)
          expect(byModel.data.map(({ model }) => model)).toEqual(['svc-core', 'svc-instant'])
          for (const { model, requests, total_tokens, allowance_tokens } of byModel.data) {
            expect({ requests, tokens: total_tokens }).toEqual(used[model!])
            expect(allowance_tokens).toBe(total_tokens * (model === 'svc-core' ? 3.75 : 1))
          }
          expect(byModel.totals).toMatchObject({ requests: 3, allowance_tokens: charged, cost_usd: 0 })
          const byDay = await usageOf(bearer, '', url)
          expect(byDay.totals).toEqual(byModel.totals)
          expect(byDay.data).toEqual([{ day: byDay.to, ...byDay.totals }])
        }
      }
    })

    test('an owner sees it without an active key; a dead key, a stranger and nobody see nothing of it', async () => {
      const developer = await newDeveloper(gateway())
      await developer.client.chat.completions.create({ model: 'svc-instant', messages: userMessages('Say: hi') })
      await manageKeys(gateway(), developer.token, 'POST', '/revoke', { key: developer.key })
      await expect.poll(() => requestsOf(developer.token), SETTLED).toBe(1)
      expect((await usageOf(await signInAs(gateway(), `stranger-${crypto.randomUUID()}`))).data).toEqual([])
      const codeOf = async (key?: string) => (await send(gateway().urls[0], '/v1/usage', { key })).body['code']
      expect(await codeOf(developer.key)).toBe('INVALID_KEY')
      expect(await codeOf('nothing-we-know')).toBe('INVALID_TOKEN')
      expect(await codeOf()).toBe('NO_AUTH')
    })

    test.each([
      ['from', '?from=yesterday'],
      ['to', '?to=2026-02-30'],
      ['to', '?to=2026-01-01&to=2026-01-02'],
      ['from', '?from=2026-02-02&to=2026-02-01'],
      ['to', '?from=2024-01-01&to=2026-01-01'],
      ['group_by', '?group_by=hour'],
      ['session', '?session=s'],
      ['session', '?group_by=agent&session='],
    ])('a mistake in %s is named: %s', async (field, query) => {
      const { key } = await newGuest(gateway())
      const { status, body } = await send(gateway().urls[0], `/v1/usage${query}`, { key })
      expect([status, body]).toEqual([
        400,
        { code: 'VALIDATION_ERROR', error: expect.stringMatching(new RegExp(`^${field}: `)) },
      ])
    })
  })
}
