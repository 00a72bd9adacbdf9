import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { countAllowed, HOUR_MS, knownAccount, SECOND_MS, quotaStatusOf, verdict, waitOf } from './stage.ts'

onEachAdapter((open) => {
  test('against an allowance of 1,000 tokens, 500 simultaneous requests pass it by less than one worst case', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    const decisions = await stage.admitAtOnce(500, { worstCharge: 130 })
    const mostCharged = countAllowed(decisions) * 130
    expect(mostCharged).toBeGreaterThanOrEqual(1000)
    expect(mostCharged).toBeLessThan(1000 + 130)
    expect(new Set(decisions.map(verdict))).toEqual(new Set(['allow', 'pending']))
  })

  test('one request after another is never refused while the allowance lasts', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    for (let sent = 0; sent < 10; sent++) {
      const requestId = `request-${sent}`
      expect(verdict(await stage.admit({ requestId, worstCharge: 900 }))).toBe('allow')
      await stage.finish(requestId, 100)
    }
    expect(verdict(await stage.admit())).toBe('allowance')
    expect(await stage.used()).toBe(1000)
  })

  test('a used-up allowance is refused until the month ends', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.settle(1000, 1, [])
    const refused = await stage.admit()
    expect(verdict(refused)).toBe('allowance')
    expect(waitOf(refused)).toBe(12 * HOUR_MS)
    expect(quotaStatusOf(refused)).toMatchObject({ used: 1000, limit: 1000 })
  })

  test('an allowance that running requests hold is refused for a moment only', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.admit({ requestId: 'large', worstCharge: 1000 })
    const refused = await stage.admit()
    expect(verdict(refused)).toBe('pending')
    expect(waitOf(refused)).toBeGreaterThan(0)
    expect(waitOf(refused)).toBeLessThanOrEqual(2 * SECOND_MS)
    await stage.finish('large', 10)
    expect(verdict(await stage.admit())).toBe('allow')
  })

  test('overage lets everything pass, and goes on counting', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.fill({ version: 2, overage: true })
    await stage.settle(5000, 1, [])
    const decision = await stage.admit({ worstCharge: 1e9 })
    expect(verdict(decision)).toBe('allow')
    expect(quotaStatusOf(decision)).toMatchObject({ used: 5000, limit: 1000, overage: true })
  })

  test('a top-up adds to the allowance', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.settle(1000, 1, [])
    expect(verdict(await stage.admit())).toBe('allowance')
    await stage.fill({ version: 2, extra: 500 })
    expect(quotaStatusOf(await stage.admit())).toMatchObject({ used: 1000, limit: 1500 })
  })

  test('the same request id is admitted once', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 5, allowance: 1000, requestsPerDay: 5 })
    const decisions = await stage.admitAtOnce(20, { requestId: 'once', worstCharge: 999 })
    expect(countAllowed(decisions)).toBe(20)
    const next = await stage.admit({ worstCharge: 1 })
    expect(quotaStatusOf(next)).toMatchObject({ requests: { remaining: 3 }, day: { remaining: 3 } })
    expect(verdict(next)).toBe('allow')
  })

  test('a charge is counted once: as pending until the ledger includes it, then in its total', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.admit({ requestId: 'paid', worstCharge: 700 })
    await stage.finish('paid', 300)
    expect(await stage.used()).toBe(300)
    await stage.settle(300, 1, ['paid'])
    expect(await stage.used()).toBe(300)
  })

  test('a charge that the ledger does not yet include never lapses', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.admit({ requestId: 'paid', worstCharge: 700, leaseMs: 5 * SECOND_MS })
    await stage.finish('paid', 300)
    stage.clock.advance(11 * HOUR_MS)
    expect(quotaStatusOf(await stage.admit()).used).toBe(300)
    expect(stage.lapsed).toBe(0)
  })

  test('an end that the ledger knew first changes nothing', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.admit({ requestId: 'quick', worstCharge: 700 })
    await stage.settle(300, 1, ['quick'])
    await stage.finish('quick', 300)
    const next = await stage.admit({ worstCharge: 699 })
    expect(quotaStatusOf(next).used).toBe(300)
    expect(verdict(await stage.admit())).toBe('allow')
    expect(verdict(await stage.admit())).toBe('pending')
  })

  test('an end that arrives twice is charged once', async () => {
    await using stage = await knownAccount(open)
    await stage.admit({ requestId: 'ended' })
    await stage.finish('ended', 40)
    await stage.finish('ended', 40)
    expect(await stage.used()).toBe(40)
  })

  test('an older total never replaces a newer one, but its requests are no longer pending', async () => {
    await using stage = await knownAccount(open)
    for (const requestId of ['first', 'second']) {
      await stage.admit({ requestId })
      await stage.finish(requestId, 50)
    }
    await stage.settle(100, 7, ['second'])
    expect(await stage.used()).toBe(150)
    await stage.settle(50, 6, ['first'])
    expect(await stage.used()).toBe(100)
    await stage.settle(100, 7, ['second'])
    expect(await stage.used()).toBe(100)
  })

  test('a warming that is older than the last total changes no total', async () => {
    await using stage = await knownAccount(open)
    await stage.settle(500, 3, [])
    await stage.warm(400, 2)
    expect(await stage.used()).toBe(500)
  })

  test('a ledger batch of 2,000 requests frees all of them', async () => {
    await using stage = await knownAccount(open)
    const ids = Array.from({ length: 2000 }, (_, index) => `request-${index}`)
    await Promise.all(ids.map((requestId) => stage.admit({ requestId })))
    await Promise.all(ids.slice(0, 1000).map((requestId) => stage.finish(requestId, 1)))
    expect(await stage.used()).toBe(1000)
    await stage.settle(2000, 1, ids)
    expect(await stage.used()).toBe(2000)
    expect(await stage.admission.renew([{ account: stage.account, requestId: ids[1999]! }], 1000)).toEqual([ids[1999]])
  })

  test('amounts near 2^53 stay exact', async () => {
    const most = Number.MAX_SAFE_INTEGER
    await using stage = await knownAccount(open, { allowance: most - 1 })
    await stage.settle(most - 1002, 1, [])
    await stage.admit({ requestId: 'large', worstCharge: 1001 })
    await stage.finish('large', 999)
    expect(await stage.used()).toBe(most - 3)
    expect(verdict(await stage.admit({ worstCharge: 1 }))).toBe('allow')
    await stage.settle(most - 1, 2, ['large'])
    expect(verdict(await stage.admit())).toBe('allowance')
  })
})
