/**
 * Promises about allowances. An account passes its allowance by less than one request. The allowance never refuses a
 * request that fits, and more of it holds for the very next request.
 */

import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { userMessages, type OperatedGateway, NARROW_PLANS, newDeveloperOn, operate, quotaOf, send } from './gateway.ts'

const PATH = '/v1/chat/completions'
const PROMPT = 'Say: hi'
/** A prompt has a token for each byte at most, and the tokens that the backend's template adds. */
const MOST_PROMPT_TOKENS = Buffer.byteLength(PROMPT) + 1_520
const MOST_OUTPUT_TOKENS = 100
const SOME_OUTPUT_TOKENS = 50
/** The time that a request may take to appear in the quota record. */
const SETTLED = { timeout: 60_000, interval: 50 }

export function promiseAllowance(gateway: () => OperatedGateway): void {
  const chat = { model: 'svc-instant', messages: userMessages(PROMPT), max_tokens: MOST_OUTPUT_TOKENS }
  const edge = (turn: number) => gateway().urls[turn % gateway().urls.length]!
  const statusOf = async (key: string, turn = 0) => (await send(edge(turn), PATH, { key, body: chat })).status
  const statusOnEach = async (key: string) => {
    const statuses = []
    for (const url of gateway().urls) statuses.push((await send(url, PATH, { key, body: chat })).status)
    return new Set(statuses)
  }
  /** The usage that either backend reports for each request, until `cancel`. */
  const costing = (tokens: number, more: { times?: number; firstByteDelayMs?: number } = {}) => {
    const counts = { prompt_tokens: tokens - SOME_OUTPUT_TOKENS, completion_tokens: SOME_OUTPUT_TOKENS }
    const usage = { ...counts, total_tokens: tokens }
    const { steadyA, steadyB } = gateway().backends
    const rules = [steadyA, steadyB].map((backend) => backend.fail({ usage, ...more }))
    return { cancel: () => rules.forEach((rule) => rule.cancel()) }
  }

  test('an allowance is passed by less than one worst case, however many requests come at once on all edges', async () => {
    const { slug, limit } = NARROW_PLANS.tenResponses
    const developer = await newDeveloperOn(gateway(), slug)
    const worstCase = MOST_PROMPT_TOKENS + MOST_OUTPUT_TOKENS
    const dear = costing(worstCase, { firstByteDelayMs: 200 })
    const replies = await Promise.all(
      Array.from({ length: 500 }, (_, turn) => send(edge(turn), PATH, { key: developer.key, body: chat })),
    )
    dear.cancel()
    const admitted = replies.filter(({ status }) => status === 200).length
    expect(admitted * worstCase).toBeGreaterThanOrEqual(limit)
    expect(admitted * worstCase).toBeLessThan(limit + worstCase)
    await expect.poll(async () => (await quotaOf(developer, edge(0))).used, SETTLED).toBe(admitted * worstCase)
    // While they ran, their worst cases stood in the way; afterwards it is used up.
    for (const { status, body } of replies.filter((reply) => reply.status !== 200)) {
      expect([429, 402]).toContain(status)
      if (status === 429) expect(body).toMatchObject({ error: { type: 'pending' } })
    }
  })

  describe('an allowance of 1,000 tokens', () => {
    test('admits one request after another to the last token', async () => {
      const { key } = await newDeveloperOn(gateway(), NARROW_PLANS.thousandTokens.slug)
      const hundred = costing(100)
      const statuses = []
      for (let turn = 0; turn < 11; turn++) statuses.push(await statusOf(key, turn))
      hundred.cancel()
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 402])
    })

    test('once used up, overage and top-ups hold for the very next request, on every edge', async () => {
      const { key, account: subject } = await newDeveloperOn(gateway(), NARROW_PLANS.thousandTokens.slug)
      const all = costing(1_000, { times: 1 })
      expect(await statusOf(key)).toBe(200)
      all.cancel()
      expect(await statusOnEach(key)).toEqual(new Set([402]))
      await operate(gateway(), 'keysSetOverage', { subject, overage: true })
      expect(await statusOnEach(key)).toEqual(new Set([200]))
      await operate(gateway(), 'keysSetOverage', { subject, overage: false })
      expect(await statusOnEach(key)).toEqual(new Set([402]))
      await operate(gateway(), 'keysTopUp', { id: randomUUID(), subject, amount: 5_000 })
      const reply = await send(edge(1), PATH, { key, body: chat })
      expect(reply.status).toBe(200)
      expect(reply.headers.get('x-svc-quota-limit')).toBe('6000')
      expect(await statusOnEach(key)).toEqual(new Set([200]))
    })
  })

  test('a pay-as-you-go allowance is kept, shown and topped up in dollars', async () => {
    const developer = await newDeveloperOn(gateway(), NARROW_PLANS.threeThousandths.slug)
    const all = costing(1_000, { times: 1 })
    expect(await statusOf(developer.key)).toBe(200)
    all.cancel()
    await expect
      .poll(() => quotaOf(developer, edge(0)), SETTLED)
      .toMatchObject({ unit: 'usd', used: 0.003, limit: 0.003, remaining: 0 })
    expect(await statusOnEach(developer.key)).toEqual(new Set([402]))
    const topUp = { id: randomUUID(), subject: developer.account, amount: 0.01 }
    await operate(gateway(), 'keysTopUp', topUp)
    expect(await statusOnEach(developer.key)).toEqual(new Set([200]))
    expect((await quotaOf(developer, edge(0))).limit).toBe(0.013)
  })
}
