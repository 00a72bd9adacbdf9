/**
 * Admissions that do not run a request: a check before its body is read, and a place among the minute's requests for an invalid one.
 */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openMemoryAdmission } from '../memory.ts'
import type { AdmitDecision, Takes } from '../port.ts'
import { onEachAdapter } from './adapters.ts'
import { limitsWith } from './limits.ts'
import {
  KEY,
  knownAccount,
  MINUTE_MS,
  newAccount,
  SECOND_MS,
  quotaStatusOf,
  START_MS,
  verdict,
  waitOf,
} from './stage.ts'

onEachAdapter((open) => {
  test('a look takes nothing, however often it is repeated', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 1, requestsPerDay: 1 })
    for (let look = 0; look < 20; look++) expect(verdict(await stage.admit({ takes: 'nothing' }))).toBe('allow')
    const decision = await stage.admit()
    expect(quotaStatusOf(decision)).toMatchObject({ requests: { remaining: 0 }, day: { remaining: 0 } })
    expect(await stage.admission.inspect(stage.account)).toMatchObject({ running: 100 })
  })

  test('a look is refused by each limit that would refuse the request, with the same wait', async () => {
    for (const limits of [
      { requestsPerMinute: 1 },
      { requestsPerDay: 1 },
      { tokensPerMinute: 10 },
      { allowance: 100 },
    ]) {
      await using stage = await knownAccount(open, limits)
      await stage.admit()
      const look = await stage.admit({ takes: 'nothing' })
      expect(look.kind).toBe('deny')
      expect(look).toEqual(await stage.admit())
    }
  })

  test('invalid requests take places in the minute, and nothing else', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 3, requestsPerDay: 1, allowance: 1 })
    for (let wrong = 0; wrong < 2; wrong++) expect(verdict(await stage.admit({ takes: 'request' }))).toBe('allow')
    const right = await stage.admit()
    expect(verdict(right)).toBe('allow')
    expect(quotaStatusOf(right)).toMatchObject({ requests: { remaining: 0 }, used: 0 })
    stage.clock.advance(20 * SECOND_MS)
    const refused = await stage.admit({ takes: 'request' })
    expect(verdict(refused)).toBe('requests')
    expect(waitOf(refused)).toBe(40 * SECOND_MS)
    stage.clock.advance(40 * SECOND_MS)
    // The day and the allowance are used up, which does not concern an invalid request.
    expect(verdict(await stage.admit({ takes: 'request' }))).toBe('allow')
  })

  test('a wrong request of a new account waits for no total, and a dead key is refused', async () => {
    await using stage = await newAccount(open)
    expect(verdict(await stage.admit({ takes: 'request' }))).toBe('miss')
    await stage.fill()
    expect(verdict(await stage.admit({ takes: 'request' }))).toBe('allow')
    expect(verdict(await stage.admit({ takes: 'nothing' }))).toBe('cold')
    await stage.admission.deactivate({ account: stage.account, keyHash: KEY, version: 9 })
    for (const takes of ['nothing', 'request'] as const) expect(verdict(await stage.admit({ takes }))).toBe('key')
  })
})

/** The pause after the account's previous request. */
const request = fc.record({
  takes: fc.constantFrom<Takes>('all', 'all', 'request'),
  afterMs: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 70_000 })),
  usualTokens: fc.integer({ min: 1, max: 900 }),
})

test('a check refuses only requests that would be refused, valid and invalid requests share one exact limit, and those below it pass', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom(1_000, 1e9),
      fc.array(request, { maxLength: 40 }),
      async (requestsPerMinute, tokensPerMinute, requests) => {
        let nowMs = START_MS
        await using store = openMemoryAdmission({ now: () => nowMs })
        const keys = [{ keyHash: KEY, version: 1, active: true }]
        await store.fill({ account: 'one', version: 1, plan: 'free', overage: false, extra: 0, keys })
        await store.warm({ account: 'one', window: '2026-11', settled: 0, version: 0 })
        const limits = limitsWith({ requestsPerMinute, tokensPerMinute })
        const request = (takes: Takes, usualTokens: number): Promise<AdmitDecision> =>
          store.admit({
            ...{ requestId: `at-${nowMs}-${taken.length}`, account: 'one', keyHash: KEY, planHint: 'free' },
            ...{ planIncludesModel: true, limits, worstCharge: 0, leaseMs: MINUTE_MS, usualTokens, takes },
          })
        const taken: number[] = []
        for (const { takes, afterMs, usualTokens } of requests) {
          nowMs += afterMs
          const look = await request('nothing', 1)
          const decision = await request(takes, usualTokens)
          if (look.kind === 'deny' && takes === 'all') expect(decision.kind).toBe('deny')
          const inMinute = taken.filter((atMs) => atMs > nowMs - MINUTE_MS).length
          if (inMinute >= requestsPerMinute) expect(decision.kind).toBe('deny')
          else if (takes === 'request' || tokensPerMinute === 1e9) {
            expect(decision.kind).toBe('allow')
            expect(verdict(look)).not.toBe('requests')
          }
          if (decision.kind === 'allow') taken.push(nowMs)
        }
      },
    ),
    { numRuns: 300 },
  )
})
