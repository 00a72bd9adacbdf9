import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { HOUR_MS, knownAccount, SECOND_MS, standingOf, verdict, waitOf } from './stage.ts'

onEachAdapter((open) => {
  test('a new month begins unknown, and empty once the ledger has said so', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.settle(1000, 8, [])
    const refused = await stage.admit()
    stage.clock.advance(waitOf(refused) - 1)
    expect(verdict(await stage.admit())).toBe('allowance')
    stage.clock.advance(1)
    expect(await stage.admit()).toEqual({ kind: 'miss' })
    await stage.fill()
    expect(await stage.admit()).toEqual({ kind: 'cold' })
    await stage.warm(0, 0)
    expect(standingOf(await stage.admit())).toMatchObject({
      window: '2026-12',
      windowResetAtMs: Date.UTC(2027, 0, 1),
      used: 0,
    })
  })

  test('top-ups of the former month do not count in the new one', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    await stage.fill({ version: 2, extra: 500 })
    stage.clock.advance(12 * HOUR_MS)
    await stage.fill({ version: 2, extra: 500, window: '2026-11' })
    expect(await stage.admit()).toEqual({ kind: 'miss' })
    await stage.fill({ version: 2, extra: 0, window: '2026-12' })
    await stage.warm()
    expect(standingOf(await stage.admit()).limit).toBe(1000)
  })

  test('a request that runs across the turn of the month is charged to the month of its admission', async () => {
    await using stage = await knownAccount(open, { allowance: 1000 })
    stage.clock.advance(12 * HOUR_MS - 1)
    const admitted = await stage.admit({ requestId: 'across', worstCharge: 1000 })
    expect(standingOf(admitted).window).toBe('2026-11')
    stage.clock.advance(1)
    await stage.fill()
    await stage.warm()
    expect(standingOf(await stage.admit({ requestId: 'across' }))).toMatchObject({
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
    await stage.fill()
    const former = { account: stage.account, window: '2026-11', settled: 999, version: 90 }
    await stage.admission.warm(former)
    expect(await stage.admit()).toEqual({ kind: 'cold' })
    await stage.warm(0, 0)
    await stage.admission.applyTotal({ ...former, included: [{ requestId: 'before' }] })
    expect(await stage.used()).toBe(0)
  })

  test("the ledger's answer names the window and its end", async () => {
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
