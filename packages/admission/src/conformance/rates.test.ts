import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { countAllowed, HOUR_MS, knownAccount, MINUTE_MS, SECOND_MS, quotaStatusOf, verdict, waitOf } from './stage.ts'
import { limitsWith } from './limits.ts'

onEachAdapter((open) => {
  test('exactly 3 of 500 simultaneous requests pass a limit of 3 per minute', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 3 })
    expect(countAllowed(await stage.admitAtOnce(500))).toBe(3)
  })

  test('a refused request may run after exactly its `retryAfterMs`, and not a millisecond earlier', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 2 })
    await stage.admit()
    stage.clock.advance(20 * SECOND_MS)
    await stage.admit()
    stage.clock.advance(10 * SECOND_MS)
    const wait = waitOf(await stage.admit())
    expect(wait).toBe(30 * SECOND_MS)
    stage.clock.advance(wait - 1)
    expect(verdict(await stage.admit())).toBe('requests')
    stage.clock.advance(1)
    expect(verdict(await stage.admit())).toBe('allow')
    expect(verdict(await stage.admit())).toBe('requests')
  })

  test('a refused request takes nothing, however often it is repeated', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 1, tokensPerMinute: 1000, requestsPerDay: 2 })
    await stage.admit({ requestId: 'first' })
    await stage.admitAtOnce(50)
    await stage.finish('first', 10, 100)
    stage.clock.advance(MINUTE_MS)
    const decision = await stage.admit()
    expect(verdict(decision)).toBe('allow')
    expect(quotaStatusOf(decision)).toMatchObject({ used: 10, tokens: { remaining: 900 }, day: { remaining: 0 } })
  })

  test('a lowered limit counts the requests that ran under the higher one', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 5 })
    for (let i = 0; i < 5; i++) {
      await stage.admit()
      stage.clock.advance(SECOND_MS)
    }
    const limits = limitsWith({ requestsPerMinute: 2 })
    const request = { account: stage.account, keyHash: 'a-key-hash', planHint: 'free', planIncludesModel: true, limits }
    const decision = await stage.admission.admit({
      ...request,
      requestId: 'next',
      usualTokens: 1,
      worstCharge: 1,
      leaseMs: 1,
    })
    // The fourth of five has to leave: it came 3 s after the first, 2 s ago.
    expect(waitOf(decision)).toBe(58 * SECOND_MS)
  })

  test('the quota status has the rest of each limit and the time until it is full again', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 10, tokensPerMinute: 6000, allowance: 5000 })
    await stage.admit({ requestId: 'first' })
    stage.clock.advance(SECOND_MS / 2)
    const quotaStatus = quotaStatusOf(await stage.admit({ usualTokens: 150 }))
    expect(quotaStatus).toEqual({
      plan: 'free',
      planVersion: 1,
      window: '2026-11',
      windowResetAtMs: Date.UTC(2026, 11, 1),
      used: 0,
      limit: 5000,
      overage: false,
      requests: { limit: 10, remaining: 8, resetMs: MINUTE_MS },
      tokens: { limit: 6000, remaining: 5800, resetMs: 2000 },
      day: null,
      nowMs: stage.clock.nowMs,
    })
  })

  test('tokens come back evenly, and waiting for `retryAfterMs` is enough', async () => {
    await using stage = await knownAccount(open, { tokensPerMinute: 700 })
    await stage.admit({ usualTokens: 700 })
    const wait = waitOf(await stage.admit({ usualTokens: 100 }))
    expect(wait).toBe(Math.ceil((100 / 700) * MINUTE_MS))
    stage.clock.advance(wait - 1)
    expect(verdict(await stage.admit({ usualTokens: 100 }))).toBe('tokens')
    stage.clock.advance(1)
    expect(verdict(await stage.admit({ usualTokens: 100 }))).toBe('allow')
  })

  test('a prompt larger than a minute of tokens passes when the bucket is full, and the rest waits for its debt', async () => {
    await using stage = await knownAccount(open, { tokensPerMinute: 1000 })
    expect(verdict(await stage.admit({ usualTokens: 5000 }))).toBe('allow')
    const small = await stage.admit({ usualTokens: 1 })
    expect(waitOf(small)).toBe(4 * MINUTE_MS + 60)
    expect(quotaStatusOf(small).tokens.remaining).toBe(0)
    const large = await stage.admit({ usualTokens: 5000 })
    expect(waitOf(large)).toBe(5 * MINUTE_MS)
    stage.clock.advance(5 * MINUTE_MS)
    expect(verdict(await stage.admit({ usualTokens: 5000 }))).toBe('allow')
  })

  test('a request that used less than usual gives the difference back, one that used more owes it', async () => {
    await using stage = await knownAccount(open, { tokensPerMinute: 1000 })
    await stage.admit({ requestId: 'less', usualTokens: 800 })
    await stage.finish('less', 10, 100)
    expect(quotaStatusOf(await stage.admit({ requestId: 'more', usualTokens: 100 })).tokens.remaining).toBe(800)
    await stage.finish('more', 10, 2900)
    expect(waitOf(await stage.admit({ usualTokens: 0 }))).toBe(2 * MINUTE_MS)
  })

  test('a debt of tokens is owed from the end of the request, however long it ran', async () => {
    await using stage = await knownAccount(open, { tokensPerMinute: 1000 })
    await stage.admit({ requestId: 'long', usualTokens: 100, leaseMs: HOUR_MS })
    stage.clock.advance(10 * MINUTE_MS)
    await stage.finish('long', 10, 3100)
    expect(waitOf(await stage.admit({ usualTokens: 0 }))).toBe(2 * MINUTE_MS)
  })

  test("the day's requests are refused until midnight in UTC", async () => {
    await using stage = await knownAccount(open, { requestsPerDay: 2 })
    await stage.admitAtOnce(2)
    const refused = await stage.admit()
    expect(verdict(refused)).toBe('day')
    expect(quotaStatusOf(refused).day).toEqual({ limit: 2, remaining: 0 })
    stage.clock.advance(waitOf(refused) - 1)
    expect(verdict(await stage.admit())).toBe('day')
    stage.clock.advance(1)
    // The day after is the first of a month.
    await stage.fill()
    await stage.warm()
    expect(quotaStatusOf(await stage.admit()).day).toEqual({ limit: 2, remaining: 1 })
  })

  test('exactly the day cap of 500 simultaneous requests pass', async () => {
    await using stage = await knownAccount(open, { requestsPerDay: 50 })
    expect(countAllowed(await stage.admitAtOnce(500))).toBe(50)
  })
})
