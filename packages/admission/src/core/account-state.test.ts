import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closeAccount, deactivate, fill, keyState, NO_STATE, type AccountState, type Fill } from './account-state.ts'

const WINDOW = '2026-11'
const at = (window: string) => ({ window, nowMs: 0 })
const plan = (version: number, name = 'free') => {
  return { version, plan: name, overage: false, extra: 0, window: WINDOW, moreLater: false }
}
const oneKey = (version: number, active: boolean): Fill => ({
  plan: plan(1),
  keys: [{ keyHash: 'key', version, active }],
})

const anyFill = fc.record({ version: fc.integer({ min: 0, max: 5 }), active: fc.boolean() }).map(
  ({ version, active }) =>
    (state: AccountState) =>
      fill(state, oneKey(version, active), 0),
)

test('after a revoke, no fill of its version or an older one brings the key back, in any order', () => {
  fc.assert(
    fc.property(fc.array(anyFill), fc.array(anyFill), (before, after) => {
      let state = before.reduce((held, apply) => apply(held), NO_STATE)
      state = deactivate(state, { keyHash: 'key', version: 5 }, 0)
      for (const apply of after) {
        state = apply(state)
        expect(keyState(state, 'key', at(WINDOW))).toEqual({ kind: 'dead' })
      }
    }),
  )
})

test('fills give the same state in any order', () => {
  const fills = fc.uniqueArray(fc.record({ version: fc.integer({ min: 0, max: 9 }), active: fc.boolean() }), {
    selector: ({ version }) => version,
  })
  fc.assert(
    fc.property(
      fills.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
      ([one, other]) => {
        const apply = (list: typeof one) =>
          list.reduce(
            (state, { version, active }) =>
              fill(state, { plan: plan(version, `plan-${version}`), keys: [{ keyHash: 'key', version, active }] }, 0),
            NO_STATE,
          )
        expect(apply(other)).toEqual(apply(one))
      },
    ),
  )
})

test('a key is unknown while its plan, or its top-ups of this month, are unknown', () => {
  const state = fill(NO_STATE, oneKey(1, true), 0)
  const ending = fill(NO_STATE, { plan: { ...plan(1), moreLater: true }, keys: oneKey(1, true).keys }, 0)
  expect(keyState(NO_STATE, 'key', at(WINDOW))).toEqual({ kind: 'unknown' })
  expect(keyState(state, 'another', at(WINDOW))).toEqual({ kind: 'unknown' })
  expect(keyState(state, 'key', at('2026-10'))).toEqual({ kind: 'unknown' })
  expect(keyState(ending, 'key', at('2026-12'))).toEqual({ kind: 'unknown' })
  expect(keyState(state, 'key', at(WINDOW))).toEqual({ kind: 'active', plan: plan(1), project: null })
})

test('in a later month a plan goes on, and its top-ups do not', () => {
  const topped = { plan: { ...plan(1), extra: 500 }, keys: oneKey(1, true).keys }
  const state = fill(NO_STATE, topped, 0)
  expect(keyState(state, 'key', at(WINDOW))).toMatchObject({ plan: { extra: 500 } })
  expect(keyState(state, 'key', at('2026-12'))).toMatchObject({ kind: 'active', plan: { plan: 'free', extra: 0 } })
})

test('after an account is closed, no fill of its version or an older one brings any of its keys to life', () => {
  const anyKey = fc.record({ version: fc.integer({ min: 0, max: 5 }), active: fc.boolean() })
  const anyFacts = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom('key', 'another'), anyKey)
  fc.assert(
    fc.property(fc.array(anyFacts), fc.array(anyFacts), (before, after) => {
      const filled = (state: AccountState, [version, keyHash, key]: (typeof before)[number]) =>
        fill(state, { plan: plan(version), keys: [{ keyHash, ...key }] }, 0)
      let state = closeAccount(before.reduce(filled, NO_STATE), 5, 0)
      for (const facts of after) {
        state = filled(state, facts)
        for (const keyHash of ['key', 'another']) expect(keyState(state, keyHash, at(WINDOW)).kind).not.toBe('active')
      }
      expect(keyState(filled(state, [6, 'key', { version: 6, active: true }]), 'key', at(WINDOW)).kind).toBe('active')
    }),
  )
})
