import type { HeldAccount } from '@gateway/admission/held-account'
import { describe, expect, test } from 'vitest'
import { compareState, type OwnState, type OwnKeyState } from './compare-state.ts'

const OWN: OwnState = { account: 'acct0001', version: 5, plan: 'free', overage: false, extra: 0 }
const OWN_KEY: OwnKeyState = {
  keyId: 'key00001',
  keyHash: 'hash-of-it',
  version: 3,
  active: true,
  hasLimits: false,
  suspended: false,
}
const { account: _, ...FACTS } = OWN
const KEY = { keyHash: 'hash-of-it', version: 3, active: true }

const held = (given: Partial<HeldAccount>): HeldAccount => ({
  window: '2026-11',
  facts: FACTS,
  keys: [KEY],
  total: null,
  running: 0,
  ended: 0,
  keyTotals: [],
  requests: [],
  ...given,
})

describe("the store's state of an account agrees with the tables", () => {
  test.each<[string, Partial<HeldAccount>, OwnKeyState[]]>([
    ['when it is the same', {}, [OWN_KEY]],
    ['when it has forgotten everything', { facts: null, keys: [] }, [OWN_KEY]],
    ['when both know a key to be dead', { keys: [{ ...KEY, active: false }] }, [{ ...OWN_KEY, active: false }]],
    ['when an older tombstone will be overruled', { keys: [{ ...KEY, version: 2, active: false }] }, [OWN_KEY]],
  ])('%s', (_name, given, keys) => {
    expect(compareState(held(given), OWN, keys)).toEqual([])
  })
})

describe('and it does not', () => {
  test('when it has another state, older, of the same version or newer; the repair writes a newer one', () => {
    const repairOf = (given: Partial<typeof FACTS>) =>
      compareState(held({ facts: { ...FACTS, ...given } }), OWN, [OWN_KEY])
    expect(repairOf({ version: 4, plan: 'pro' })).toMatchObject([
      { kind: 'account', repair: { kind: 'fill', version: 5 } },
    ])
    expect(repairOf({ extra: 7 })).toMatchObject([
      { store: expect.stringContaining('top-ups 7'), repair: { version: 5 } },
    ])
    expect(repairOf({ version: 9 })).toMatchObject([{ repair: { kind: 'fill', version: 10 } }])
  })

  test('when a dead key is alive in it, or one that nobody knows', () => {
    const dead = { ...OWN_KEY, active: false, version: 4 }
    const buried = { kind: 'deactivate', keyHash: 'hash-of-it' }
    expect(compareState(held({}), OWN, [dead])).toMatchObject([
      { kind: 'key', store: 'key00001 is active', truth: 'key00001 is deactivated', repair: { ...buried, version: 5 } },
    ])
    expect(compareState(held({}), OWN, [])).toMatchObject([{ repair: { ...buried, version: 4 } }])
  })

  test('when a key that it has buried is alive in the tables: it stays dead', () => {
    expect(compareState(held({ keys: [{ ...KEY, active: false }] }), OWN, [OWN_KEY])).toMatchObject([
      { kind: 'key', repair: { kind: 'revoke', keyId: 'key00001' } },
    ])
  })

  test("when it has other limits of a project's key than the tables; the repair writes newer ones", () => {
    const repairOf = (version: number) =>
      compareState(held({ keys: [{ ...KEY, version }] }), OWN, [{ ...OWN_KEY, hasLimits: true }])
    expect(repairOf(2)).toMatchObject([{ kind: 'key', repair: { kind: 'limits', keyId: 'key00001', version: 3 } }])
    expect(repairOf(3)).toEqual([])
    expect(repairOf(9)).toMatchObject([{ repair: { kind: 'limits', version: 10 } }])
  })
})

test('a suspended key that the store holds alive is written again, without a tombstone that outlives the suspension', () => {
  const suspended = { ...OWN_KEY, active: false, suspended: true }
  expect(compareState(held({}), OWN, [suspended])).toMatchObject([
    {
      kind: 'key',
      truth: 'key00001 is suspended',
      repair: { kind: 'limits', keyId: 'key00001', keyHash: 'hash-of-it', version: 4 },
    },
  ])
})
