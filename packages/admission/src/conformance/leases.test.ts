import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { HOUR_MS, knownAccount, SECOND_MS, quotaStatusOf, verdict } from './stage.ts'

onEachAdapter((open) => {
  test("a dead edge's request is released after its lease, counted, and never charged", async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.admit({ requestId: 'orphan', worstCharge: 1000, leaseMs: 30 * SECOND_MS })
    stage.clock.advance(30 * SECOND_MS - 1)
    expect(verdict(await stage.admit())).toBe('pending')
    expect(stage.lapsed).toBe(0)
    stage.clock.advance(1)
    const next = await stage.admit()
    expect(verdict(next)).toBe('allow')
    expect(quotaStatusOf(next).used).toBe(0)
    expect(stage.lapsed).toBe(1)
    await stage.finish('orphan', 800)
    expect(await stage.used()).toBe(0)
  })

  test('a request that is renewed is held as long as it runs', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.admit({ requestId: 'long', worstCharge: 1000, leaseMs: 30 * SECOND_MS })
    for (let renewed = 0; renewed < 20; renewed++) {
      stage.clock.advance(29 * SECOND_MS)
      expect(await stage.admission.renew([{ account: stage.account, requestId: 'long' }], 30 * SECOND_MS)).toEqual([])
      expect(verdict(await stage.admit())).toBe('pending')
    }
    expect(stage.lapsed).toBe(0)
  })

  test('renewing says which requests are no longer held', async () => {
    await using stage = await knownAccount(open)
    await using other = await knownAccount(open)
    await stage.admit({ requestId: 'lapsed', leaseMs: SECOND_MS })
    await stage.admit({ requestId: 'ended' })
    await stage.admit({ requestId: 'running' })
    await stage.finish('ended', 1)
    stage.clock.advance(SECOND_MS)
    const ids = ['lapsed', 'ended', 'running', 'unheard-of']
    const leases = ids.map((requestId) => ({ account: stage.account, requestId }))
    const lost = await stage.admission.renew([...leases, { account: other.account, requestId: 'other' }], SECOND_MS)
    expect(lost.sort()).toEqual(['ended', 'lapsed', 'other', 'unheard-of'])
  })

  test('a request whose lease had lapsed is held again when its edge renews it with its worst charge', async () => {
    await using stage = await knownAccount(open, { allowance: 1000, tokensPerMinute: 1000 })
    await stage.admit({ requestId: 'kept', worstCharge: 600, leaseMs: SECOND_MS })
    stage.clock.advance(HOUR_MS)
    const lease = { account: stage.account, requestId: 'kept', worstCharge: 600, window: '2026-11' }
    expect(await stage.admission.renew([lease], 30 * SECOND_MS)).toEqual([])
    expect(await stage.admission.renew([lease], 30 * SECOND_MS)).toEqual([])
    await stage.admit({ worstCharge: 400 })
    expect(verdict(await stage.admit())).toBe('pending')
    await stage.finish('kept', 200, 900)
    const next = await stage.admit()
    expect(quotaStatusOf(next).used).toBe(200)
    // Of the bucket's 1,000 it has used 900, and the other 100.
    expect(quotaStatusOf(next).tokens.remaining).toBe(0)
  })

  test('a request that the store does not know is held again without tokens, and its end corrects none', async () => {
    await using stage = await knownAccount(open, { allowance: 1000, tokensPerMinute: 1000 })
    await stage.admit()
    const lease = { account: stage.account, requestId: 'kept', worstCharge: 600, window: '2026-11' }
    expect(await stage.admission.renew([lease], 30 * SECOND_MS)).toEqual([])
    await stage.finish('kept', 200, 900)
    await stage.settle(200, 1, [{ requestId: 'kept', tokens: 950 }])
    expect(quotaStatusOf(await stage.admit()).tokens.remaining).toBe(800)
  })

  test('renewing thousands at once keeps each, and says which of them are lost', async () => {
    await using stage = await knownAccount(open)
    const ids = Array.from({ length: 3000 }, (_, index) => `request-${index}`)
    await Promise.all(ids.slice(1).map((requestId) => stage.admit({ requestId, worstCharge: 1 })))
    const leases = ids.map((requestId) => ({ account: stage.account, requestId }))
    expect(await stage.admission.renew(leases, HOUR_MS)).toEqual(['request-0'])
    const again = leases.map((lease) => ({ ...lease, worstCharge: 1 }))
    expect(await stage.admission.renew([...again, ...again], HOUR_MS)).toEqual([])
    stage.clock.advance(HOUR_MS - 1)
    expect(await stage.admission.renew(leases, HOUR_MS)).toEqual([])
    expect(stage.lapsed).toBe(0)
  })

  test('a request that is renewed twice in one call is held again once', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    const lease = { account: stage.account, requestId: 'lost', worstCharge: 600 }
    expect(await stage.admission.renew([lease, lease], 30 * SECOND_MS)).toEqual([])
    expect(verdict(await stage.admit({ worstCharge: 400 }))).toBe('allow')
    await stage.finish('lost', 0)
    expect(verdict(await stage.admit({ worstCharge: 600 }))).toBe('allow')
    expect(verdict(await stage.admit())).toBe('pending')
  })

  test('a thousand leases that lapse at once are all released', async () => {
    await using stage = await knownAccount(open, { allowance: 1e9 })
    await stage.admitAtOnce(1000, { leaseMs: SECOND_MS, worstCharge: 1e6 })
    expect(verdict(await stage.admit())).toBe('pending')
    stage.clock.advance(SECOND_MS)
    for (let count = 0; count < 3; count++) await stage.admit()
    expect(stage.lapsed).toBe(1000)
    expect(verdict(await stage.admit({ worstCharge: 1e9 - 300 }))).toBe('allow')
    expect(verdict(await stage.admit())).toBe('pending')
  })
})
