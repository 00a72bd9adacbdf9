import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { countAllowed, KEY, knownAccount, newAccount, quotaStatusOf, verdict } from './stage.ts'

onEachAdapter((open) => {
  const authenticate = (stage: Awaited<ReturnType<typeof newAccount>>, keyHash = KEY) =>
    stage.admission.authenticate({ account: stage.account, keyHash })

  test('an unknown account is a miss, and admitted once it is filled and warm', async () => {
    await using stage = await newAccount(open)
    expect(await stage.admit()).toEqual({ kind: 'miss' })
    expect(await authenticate(stage)).toEqual({ kind: 'miss' })
    await stage.fill({ extra: 7 })
    expect(await stage.admit()).toEqual({ kind: 'cold' })
    expect(await authenticate(stage)).toEqual({ kind: 'active', plan: 'free', overage: false, extra: 7, used: null })
    await stage.warm(30, 2)
    expect(verdict(await stage.admit())).toBe('allow')
    expect(await authenticate(stage)).toEqual({ kind: 'active', plan: 'free', overage: false, extra: 7, used: 30 })
  })

  test('a key that the store does not know is a miss, though it knows the account', async () => {
    await using stage = await knownAccount(open)
    expect(await stage.admit({ keyHash: 'another' })).toEqual({ kind: 'miss' })
    expect(await authenticate(stage, 'another')).toEqual({ kind: 'miss' })
  })

  test("a total that comes before the account's first request does not make it known, and is not forgotten", async () => {
    await using stage = await newAccount(open)
    await stage.fill()
    await stage.settle(90, 5, [])
    expect(await stage.admit()).toEqual({ kind: 'cold' })
    await stage.warm(70, 4)
    expect(quotaStatusOf(await stage.admit()).used).toBe(90)
  })

  test('a revoked key is refused although a late fill says it is active', async () => {
    await using stage = await knownAccount(open)
    await stage.admission.deactivate({ account: stage.account, keyHash: KEY, version: 5 })
    for (const version of [1, 4, 5]) {
      await stage.fill({ keys: [{ keyHash: KEY, version, active: true }] })
      expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
      expect(await authenticate(stage)).toEqual({ kind: 'deny' })
    }
  })

  test('a key that is revoked before the store has heard of it is refused', async () => {
    await using stage = await newAccount(open)
    await stage.admission.deactivate({ account: stage.account, keyHash: KEY, version: 2 })
    expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
    await stage.fill()
    expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
  })

  test('a revoke is never undone by its own version being old', async () => {
    await using stage = await knownAccount(open)
    await stage.fill({ keys: [{ keyHash: KEY, version: 9, active: true }] })
    await stage.admission.deactivate({ account: stage.account, keyHash: KEY, version: 3 })
    await stage.fill({ keys: [{ keyHash: KEY, version: 9, active: true }] })
    expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
  })

  test("revoking one key leaves the account's others alone", async () => {
    await using stage = await knownAccount(open)
    await stage.fill({ keys: [{ keyHash: 'new', version: 2, active: true }] })
    await stage.admission.deactivate({ account: stage.account, keyHash: KEY, version: 3 })
    expect(verdict(await stage.admit({ keyHash: 'new' }))).toBe('allow')
  })

  test('a fill that says a key is dead is believed', async () => {
    await using stage = await knownAccount(open)
    await stage.fill({ keys: [{ keyHash: KEY, version: 1, active: false }] })
    expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
  })

  test('an old fill changes neither plan nor top-ups', async () => {
    await using stage = await knownAccount(open, { allowance: 100 })
    await stage.fill({ version: 4, plan: 'pro', extra: 11 })
    await stage.fill({ version: 3, plan: 'free', extra: 0 })
    expect(quotaStatusOf(await stage.admit({ planHint: 'pro' }))).toMatchObject({ plan: 'pro', limit: 111 })
  })

  test('a hundred rotations later, the live key lives and the dead ones are dead', async () => {
    await using stage = await knownAccount(open)
    for (let version = 2; version < 150; version++) {
      await stage.fill({ keys: [{ keyHash: `key-${version}`, version, active: true }] })
      await stage.admission.deactivate({ account: stage.account, keyHash: `key-${version - 1}`, version })
    }
    expect(verdict(await stage.admit({ keyHash: 'key-149' }))).toBe('allow')
    expect(await stage.admit({ keyHash: 'key-2' })).toEqual({ kind: 'deny', reason: 'key' })
  })

  test('however often keys are rotated in a day, the store holds a bounded number of dead ones, the latest', async () => {
    await using stage = await knownAccount(open)
    const last = 700
    const deaths = Array.from({ length: last }, (_, index) => ({ keyHash: `key-${index + 1}`, version: index + 1 }))
    await Promise.all(deaths.map((dead) => stage.admission.deactivate({ account: stage.account, ...dead })))
    expect((await stage.admission.inspect(stage.account)).keys.length).toBeLessThan(600)
    await stage.fill({ version: last, keys: [{ keyHash: `key-${last}`, version: last, active: true }] })
    expect(await stage.admit({ keyHash: `key-${last}` })).toEqual({ kind: 'deny', reason: 'key' })
  })

  test('a late fill does not revive a key whose death the store has forgotten for later ones', async () => {
    await using stage = await knownAccount(open)
    await stage.admission.deactivate({ account: stage.account, keyHash: KEY, version: 2 })
    stage.clock.advance(1)
    const deaths = Array.from({ length: 700 }, (_, index) => ({ keyHash: `key-${index}`, version: index + 3 }))
    await Promise.all(deaths.map((dead) => stage.admission.deactivate({ account: stage.account, ...dead })))
    await stage.fill({ version: 702, keys: [{ keyHash: 'alive', version: 702, active: true }] })
    await stage.fill({ version: 1, keys: [{ keyHash: KEY, version: 1, active: true }] })
    expect(await stage.admit()).toEqual({ kind: 'miss' })
    expect(verdict(await stage.admit({ keyHash: 'alive' }))).toBe('allow')
  })

  test('an edge that believes in another plan receives the right one, and nothing is taken', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 1 })
    expect(await stage.admit({ planHint: 'pro' })).toEqual({ kind: 'plan', plan: 'free' })
    expect(await stage.admit({ planHint: null })).toEqual({ kind: 'plan', plan: 'free' })
    expect(verdict(await stage.admit())).toBe('allow')
  })

  test('a new plan takes effect on the next request', async () => {
    await using stage = await knownAccount(open)
    await stage.admit()
    await stage.fill({ version: 2, plan: 'pro' })
    expect(await stage.admit()).toEqual({ kind: 'plan', plan: 'pro' })
  })

  test('a model outside the plan is refused before any limit is looked at', async () => {
    await using stage = await knownAccount(open, { requestsPerMinute: 1, allowance: 0 })
    const refused = await stage.admit({ planIncludesModel: false })
    expect(refused).toMatchObject({ kind: 'deny', reason: 'plan', retryAfterMs: 0, quotaStatus: { plan: 'free' } })
  })

  test('a closed account refuses each of its keys, also one that a late fill brings', async () => {
    await using stage = await knownAccount(open)
    await stage.fill({ version: 2, keys: [{ keyHash: 'second', version: 2, active: true }] })
    await stage.admission.closeAccount({ account: stage.account, version: 5 })
    for (const version of [1, 4, 5]) {
      const keys = [KEY, 'second', 'unheard of'].map((keyHash) => ({ keyHash, version, active: true }))
      await stage.fill({ version, keys })
      for (const { keyHash } of keys) {
        expect(await stage.admit({ keyHash })).toEqual({ kind: 'deny', reason: 'key' })
        expect(await authenticate(stage, keyHash)).toEqual({ kind: 'deny' })
      }
    }
    await stage.fill({ version: 6, keys: [{ keyHash: 'new', version: 6, active: true }] })
    expect(verdict(await stage.admit({ keyHash: 'new' }))).toBe('allow')
    expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
  })

  test('an account of 500 keys is closed by one write', async () => {
    await using stage = await knownAccount(open)
    const keys = Array.from({ length: 500 }, (_, index) => ({ keyHash: `key-${index}`, version: 1, active: true }))
    await stage.fill({ version: 2, keys })
    await stage.admission.closeAccount({ account: stage.account, version: 3 })
    const decisions = await Promise.all(keys.map(({ keyHash }) => stage.admit({ keyHash })))
    expect(countAllowed(decisions)).toBe(0)
  })
})
