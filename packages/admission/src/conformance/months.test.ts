import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { HOUR_MS, KEY, knownAccount, newAccount, SECOND_MS, quotaStatusOf, verdict, waitOf } from './stage.ts'

onEachAdapter((open) => {
  test('a new month begins with nothing used where the last total was known, without a call to keys or metering', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.settle(1000, 8, [])
    const refused = await stage.admit()
    stage.clock.advance(waitOf(refused) - 1)
    expect(verdict(await stage.admit())).toBe('allowance')
    stage.clock.advance(1)
    expect(await stage.used()).toBe(0)
    expect(quotaStatusOf(await stage.admit({ requestId: 'first' }))).toMatchObject({
      window: '2026-12',
      windowResetAtMs: Date.UTC(2027, 0, 1),
      used: 0,
    })
    await stage.finish('first', 40)
    await stage.settle(40, 1, ['first'])
    expect(await stage.used()).toBe(40)
  })

  test('a new month begins unknown where the last total was unknown', async () => {
    await using stage = await newAccount(open)
    await stage.fill()
    await stage.settle(1000, 8, [])
    expect(await stage.admit()).toEqual({ kind: 'cold' })
    stage.clock.advance(12 * HOUR_MS)
    expect(await stage.admit()).toEqual({ kind: 'cold' })
  })

  test('a new month begins unknown where the ledger had a total of it before it began', async () => {
    await using stage = await knownAccount(open)
    const early = { account: stage.account, window: '2026-12', settled: 70, version: 1 }
    await stage.admission.applyTotal({ ...early, included: [] })
    expect(verdict(await stage.admit())).toBe('allow')
    stage.clock.advance(12 * HOUR_MS)
    expect(await stage.used()).toBeNull()
    expect(await stage.admit()).toEqual({ kind: 'cold' })
    await stage.warm(70, 1)
    expect(quotaStatusOf(await stage.admit())).toMatchObject({ used: 70 })
  })

  test('a month that begins again, because the clock went back, is unknown', async () => {
    await using stage = await knownAccount(open)
    stage.clock.advance(12 * HOUR_MS)
    await stage.admit({ requestId: 'paid' })
    await stage.finish('paid', 30)
    stage.clock.advance(-1)
    await stage.fill()
    expect(await stage.admit()).toEqual({ kind: 'cold' })
    await stage.warm(500, 9)
    stage.clock.advance(1)
    await stage.fill()
    expect(await stage.admit()).toEqual({ kind: 'cold' })
  })

  test('top-ups of the former month are gone in the new one, without a call to keys', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.fill({ version: 2, extra: 500, overage: true })
    expect(quotaStatusOf(await stage.admit()).limit).toBe(1500)
    stage.clock.advance(12 * HOUR_MS)
    expect(quotaStatusOf(await stage.admit())).toMatchObject({ limit: 1000, overage: true })
    const state = await stage.admission.authenticate({ account: stage.account, keyHash: KEY })
    expect(state).toMatchObject({ kind: 'active', extra: 0 })
    expect((await stage.admission.inspect(stage.account)).facts).toMatchObject({ version: 2, extra: 0 })
  })

  test('top-ups that wait in the new month are a miss when it begins', async () => {
    await using stage = await knownAccount(open)
    await stage.fill({ version: 2, extra: 500, moreLater: true })
    expect(verdict(await stage.admit())).toBe('allow')
    stage.clock.advance(12 * HOUR_MS)
    expect(await stage.admit()).toEqual({ kind: 'miss' })
    expect((await stage.admission.inspect(stage.account)).facts).toBeNull()
    await stage.fill({ version: 2, extra: 70 })
    expect(verdict(await stage.admit())).toBe('allow')
  })

  test('a request that runs across the turn of the month is charged to the month of its admission', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    stage.clock.advance(12 * HOUR_MS - 1)
    const admitted = await stage.admit({ requestId: 'across', worstCharge: 1000 })
    expect(quotaStatusOf(admitted).window).toBe('2026-11')
    stage.clock.advance(1)
    await stage.fill()
    await stage.warm()
    expect(quotaStatusOf(await stage.admit({ requestId: 'across' }))).toMatchObject({
      window: '2026-11',
      windowResetAtMs: Date.UTC(2026, 11, 1),
    })
    expect(await stage.admission.renew([{ account: stage.account, requestId: 'across' }], 30 * SECOND_MS)).toEqual([])
    expect(verdict(await stage.admit({ worstCharge: 999 }))).toBe('allow')
    await stage.finish('across', 900)
    expect(await stage.used()).toBe(0)
  })

  test('a total of the former month changes nothing in the new one', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.admit({ requestId: 'before', worstCharge: 10 })
    await stage.finish('before', 10)
    stage.clock.advance(12 * HOUR_MS)
    const former = { account: stage.account, window: '2026-11', settled: 999, version: 90 }
    await stage.admission.warm(former)
    await stage.admission.applyTotal({ ...former, included: [{ requestId: 'before' }] })
    expect(await stage.used()).toBe(0)
  })

  test('the current window has a name and an end', async () => {
    await using stage = await knownAccount(open)
    expect(await stage.admission.currentWindow()).toMatchObject({ window: '2026-11', resetAtMs: Date.UTC(2026, 11, 1) })
    stage.clock.advance(12 * HOUR_MS)
    expect(await stage.admission.currentWindow()).toMatchObject({ window: '2026-12', resetAtMs: Date.UTC(2027, 0, 1) })
  })

  test("without a test's clock, the window is this month", async () => {
    await using admission = await open({})
    const { window, resetAtMs } = await admission.currentWindow()
    const soon = new Date(Date.now() + 1000).toISOString().slice(0, 7)
    expect([new Date().toISOString().slice(0, 7), soon]).toContain(window)
    expect(resetAtMs).toBeGreaterThan(Date.now())
  })
})
