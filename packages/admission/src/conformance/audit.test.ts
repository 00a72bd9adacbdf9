import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { HOUR_MS, KEY, knownAccount, newAccount, SECOND_MS } from './stage.ts'

const NOTHING = { facts: null, keys: [], total: null, running: 0, ended: 0, keyTotals: [], requests: [] }

onEachAdapter((open) => {
  test('all that is held of an account can be looked at, and looking changes nothing', async () => {
    await using stage = await knownAccount(open)
    const { admission, account } = stage
    await stage.fill({ version: 3, overage: true, extra: 500 })
    await admission.deactivate({ account, keyHash: 'dead', version: 2 })
    await stage.settle(1_000, 7, [])
    await stage.admit({ requestId: 'runs', worstCharge: 70 })
    await stage.admit({ requestId: 'ended', worstCharge: 70 })
    await stage.finish('ended', 30)
    for (let look = 0; look < 2; look++) {
      const { keys, requests, ...held } = await admission.inspect(account)
      expect(held).toEqual({
        window: '2026-11',
        facts: { version: 3, plan: 'free', overage: true, extra: 500 },
        total: { settled: 1_000, version: 7 },
        running: 70,
        ended: 30,
        keyTotals: [],
      })
      expect(new Set(keys)).toEqual(
        new Set([
          { keyHash: KEY, version: 1, active: true },
          { keyHash: 'dead', version: 2, active: false },
        ]),
      )
      expect(new Set(requests)).toEqual(
        new Set([
          { requestId: 'runs', state: 'running', amount: 70, lapsed: false, keyId: null },
          { requestId: 'ended', state: 'ended', amount: 30, lapsed: false, keyId: null },
        ]),
      )
    }
  })

  test('an unknown account or total is null', async () => {
    await using stage = await newAccount(open)
    const inspect = () => stage.admission.inspect(stage.account)
    expect(await inspect()).toEqual({ ...NOTHING, window: '2026-11' })
    await stage.fill()
    const keys = [{ keyHash: KEY, version: 1, active: true }]
    expect(await inspect()).toMatchObject({ facts: { plan: 'free' }, total: null, keys })
    await stage.warm(5, 1)
    expect(await inspect()).toMatchObject({ total: { settled: 5, version: 1 } })
    // Top-ups and totals are of a month. The plan goes on.
    await stage.fill({ version: 2, extra: 500 })
    stage.clock.advance(12 * HOUR_MS)
    const facts = { version: 2, plan: 'free', overage: false, extra: 0 }
    expect(await inspect()).toEqual({ ...NOTHING, window: '2026-12', facts, keys })
  })

  test('a running request whose lease is over is seen as such, and given up by a recount', async () => {
    await using stage = await knownAccount(open)
    await stage.admit({ requestId: 'left', worstCharge: 70, leaseMs: SECOND_MS })
    await stage.admit({ requestId: 'renewed', worstCharge: 50, leaseMs: HOUR_MS })
    stage.clock.advance(2 * SECOND_MS)
    const left = { requestId: 'left', state: 'running', amount: 70, lapsed: true, keyId: null }
    expect((await stage.admission.inspect(stage.account)).requests).toContainEqual(left)
    await stage.admission.recount(stage.account)
    expect(await stage.admission.inspect(stage.account)).toMatchObject({
      running: 50,
      requests: [{ requestId: 'renewed', state: 'running', amount: 50, lapsed: false, keyId: null }],
    })
    expect(stage.lapsed).toBe(1)
  })

  test('a recount of an account that nobody knows leaves nothing behind', async () => {
    await using stage = await newAccount(open)
    await stage.admission.recount(stage.account)
    expect(await stage.admission.inspect(stage.account)).toEqual({ ...NOTHING, window: '2026-11' })
  })
})
