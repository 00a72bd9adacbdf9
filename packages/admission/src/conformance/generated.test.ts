/**
 * Generated tokens count against tokens per minute, for any end of the request. The ledger reports them once for each request, also late.
 */

import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { HOUR_MS, knownAccount, MINUTE_MS, SECOND_MS, quotaStatusOf, verdict, waitOf, type Stage } from './stage.ts'

const LIMITS = { tokensPerMinute: 10_000, allowance: 1e9 }

/** The rest of the bucket; this call takes nothing. */
async function left(stage: Stage): Promise<number> {
  return quotaStatusOf(await stage.admit({ usualTokens: 0, worstCharge: 0 })).tokens.remaining
}

onEachAdapter((open) => {
  test('a request that its edge has not finished holds its reservation until the ledger reports its tokens', async () => {
    await using stage = await knownAccount(open, LIMITS)
    await stage.admit({ requestId: 'left', usualTokens: 500 })
    expect(await left(stage)).toBe(9_500)
    await stage.settle(1, 1, [{ requestId: 'left', tokens: 3_000 }])
    expect(await left(stage)).toBe(7_000)
  })

  test('a request that used less than its reservation gives the difference back', async () => {
    await using stage = await knownAccount(open, LIMITS)
    await stage.admit({ requestId: 'left', usualTokens: 500 })
    await stage.settle(1, 1, [{ requestId: 'left', tokens: 100 }])
    expect(await left(stage)).toBe(9_900)
  })

  test("reported twice, or before the edge's end, it counts once", async () => {
    await using stage = await knownAccount(open, LIMITS)
    for (const mayChange of [false, true]) {
      const requestId = `may-change-${mayChange}`
      await stage.admit({ requestId, usualTokens: 500 })
      await stage.settle(1, 1, [{ requestId, tokens: 3_000, mayChange }])
      await stage.settle(1, 1, [{ requestId, tokens: 3_000, mayChange }])
      await stage.finish(requestId, 10, 3_000)
    }
    expect(await left(stage)).toBe(4_000)
  })

  test('an end that the edge has reported is not counted again by the ledger', async () => {
    await using stage = await knownAccount(open, LIMITS)
    await stage.admit({ requestId: 'read', usualTokens: 500 })
    await stage.finish('read', 10, 3_000)
    await stage.settle(10, 1, [{ requestId: 'read', tokens: 3_000 }])
    expect(await left(stage)).toBe(7_000)
  })

  test('a report that another replaces counts as the one that stands', async () => {
    await using stage = await knownAccount(open, LIMITS)
    await stage.admit({ requestId: 'twice', usualTokens: 500 })
    await stage.settle(1, 1, [{ requestId: 'twice', tokens: 3_000, mayChange: true }])
    await stage.settle(2, 2, [{ requestId: 'twice', tokens: 4_000, mayChange: true }])
    // Overtaken on its way.
    await stage.settle(1, 1, [{ requestId: 'twice', tokens: 3_000, mayChange: true }])
    expect(await left(stage)).toBe(6_000)
    await stage.settle(3, 3, [{ requestId: 'twice', tokens: 2_000 }])
    await stage.settle(3, 3, [{ requestId: 'twice', tokens: 2_000 }])
    expect(await left(stage)).toBe(8_000)
  })

  test('a request whose lease has lapsed is known by its tokens for an hour', async () => {
    await using stage = await knownAccount(open, { ...LIMITS, tokensPerMinute: 1 })
    for (const requestId of ['soon', 'late']) await stage.admit({ requestId, usualTokens: 0, leaseMs: SECOND_MS })
    stage.clock.advance(HOUR_MS)
    await stage.settle(1, 1, [{ requestId: 'soon', tokens: 1_000 }])
    expect(waitOf(await stage.admit({ usualTokens: 0, worstCharge: 0 }))).toBe(999 * MINUTE_MS)
    stage.clock.advance(SECOND_MS)
    await stage.settle(1, 2, [{ requestId: 'late', tokens: 1_000 }])
    expect(waitOf(await stage.admit({ usualTokens: 0, worstCharge: 0 }))).toBe(999 * MINUTE_MS - SECOND_MS)
  })

  test('an end that comes after the lease has lapsed counts its tokens, and leaves the charge to the ledger', async () => {
    await using stage = await knownAccount(open, { ...LIMITS, tokensPerMinute: 600 })
    await stage.admit({ requestId: 'late', usualTokens: 600, leaseMs: SECOND_MS })
    stage.clock.advance(SECOND_MS)
    await stage.finish('late', 800, 1_210)
    expect(await stage.used()).toBe(0)
    // 600 and 10 of a second, less 1,210.
    expect(waitOf(await stage.admit({ usualTokens: 0 }))).toBe(MINUTE_MS)
    await stage.settle(800, 1, [{ requestId: 'late', tokens: 1_210 }])
    expect(waitOf(await stage.admit({ usualTokens: 0 }))).toBe(MINUTE_MS)
  })

  test('a request that failed with nothing counts the tokens that the ledger reports later', async () => {
    await using stage = await knownAccount(open, LIMITS)
    await stage.admit({ requestId: 'failed', usualTokens: 500 })
    await stage.finish('failed', 0, 0)
    expect(await left(stage)).toBe(10_000)
    await stage.settle(1, 1, [{ requestId: 'failed', tokens: 700 }])
    expect(await left(stage)).toBe(9_300)
  })

  test('a request that is admitted again after it was given back holds the bucket once', async () => {
    await using stage = await knownAccount(open, LIMITS)
    await stage.admit({ requestId: 'again', usualTokens: 500 })
    await stage.finish('again', 0, 0)
    expect(verdict(await stage.admit({ requestId: 'again', usualTokens: 500 }))).toBe('allow')
    expect(await left(stage)).toBe(9_500)
    await stage.finish('again', 10, 2_000)
    expect(await left(stage)).toBe(8_000)
  })

  test('a request that is over holds nothing of the allowance, and is deleted after its time', async () => {
    await using stage = await knownAccount(open, { ...LIMITS, allowance: 1_000 })
    await stage.admit({ requestId: 'left', worstCharge: 999 })
    await stage.settle(1, 1, [{ requestId: 'left', tokens: 5, mayChange: true }])
    const held = { running: 0, ended: 0, requests: [] }
    expect(await stage.admission.inspect(stage.account)).toMatchObject(held)
    expect(verdict(await stage.admit({ worstCharge: 0 }))).toBe('allow')
    expect(stage.lapsed).toBe(0)
    const lease = { account: stage.account, requestId: 'left', worstCharge: 999 }
    expect(await stage.admission.renew([lease], SECOND_MS)).toEqual(['left'])
    stage.clock.advance(10 * MINUTE_MS)
    await stage.settle(1, 2, [{ requestId: 'left', tokens: 9_999 }])
    expect(await left(stage)).toBe(10_000)
  })

  test('a thousand requests that the ledger reports at once are each corrected', async () => {
    await using stage = await knownAccount(open, { tokensPerMinute: 1_000_000 })
    const ids = Array.from({ length: 1_300 }, (_, index) => `request-${index}`)
    await Promise.all(ids.map((requestId) => stage.admit({ requestId, usualTokens: 10 })))
    const reported = ids.map((requestId, index) => ({ requestId, tokens: 110, mayChange: index % 2 === 0 }))
    await stage.settle(1, 1, reported)
    await stage.settle(1, 1, reported)
    expect(await left(stage)).toBe(1_000_000 - 1_300 * 110)
  })
})
