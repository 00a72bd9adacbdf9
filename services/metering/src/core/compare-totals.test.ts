import type { HeldAccount } from '@gateway/admission/held-account'
import { expect, test } from 'vitest'
import { requestIdAt } from '../../test/usage-events.ts'
import { compareTotals } from './compare-totals.ts'

const NOW_MS = Date.parse('2026-11-20T10:00:00Z')
const ID = requestIdAt(NOW_MS - 60_000)
const request = { requestId: ID, state: 'ended', amount: 30, lapsed: false, keyId: null } as const

function found(
  given: Partial<HeldAccount>,
  ledger: { settled?: number; version?: number; recorded?: string[]; key?: number } = {},
) {
  const nothing = { facts: null, keys: [], total: null, running: 0, ended: 0, keyTotals: [], requests: [] }
  const held = { window: '2026-11', ...nothing, ...given }
  const { settled = 1_000, version = 7, recorded = [], key = 0 } = ledger
  const keyTotals = new Map([['key00001', key]])
  return compareTotals(held, { account: 'acct0001', settled, version, keyTotals, recorded: new Set(recorded) }, NOW_MS)
}

test.each<[string, Partial<HeldAccount>]>([
  ['an unknown account, which it will request', {}],
  ['the same total of the same version', { total: { settled: 1_000, version: 7 } }],
  ['a request that runs and is renewed', { running: 30, requests: [{ ...request, state: 'running' }] }],
  ['a request that has just ended, whose report is on its way', { ended: 30, requests: [request] }],
])('no difference: %s', (_name, held) => {
  expect(found(held)).toEqual([])
})

test.each([
  ['older', { settled: 900, version: 6 }],
  ['newer than the ledger, which was restored', { settled: 2_000, version: 9 }],
  ['another of the same version', { settled: 999, version: 7 }],
])('a total that is %s is published again under a newer version', (_name, total) => {
  const [finding, ...others] = found({ total })
  expect(finding).toMatchObject({
    kind: 'total',
    store: `${total.settled} settled (version ${total.version})`,
    truth: '1000 settled (version 7)',
    repair: { aboveVersion: total.version },
  })
  expect(others).toEqual([])
})

test("a key's total that is another than the ledger's is published again, also of another version", () => {
  const keyTotal = { keyId: 'key00001', settled: 400, version: 5, running: 0, ended: 0 }
  const total = { settled: 1_000, version: 7 }
  expect(found({ total, keyTotals: [keyTotal] }, { key: 400 })).toEqual([])
  expect(found({ total, keyTotals: [keyTotal] }, { key: 500 })).toMatchObject([
    { kind: 'total', truth: '500 settled of it', repair: { aboveVersion: 7, keyId: 'key00001' } },
  ])
})

test('a sum that differs from its requests is counted again', () => {
  expect(found({ ended: 31, requests: [request] })).toMatchObject([
    { kind: 'pending', store: '0 running, 31 ended', repair: { recount: true } },
  ])
})

test('an ended request in the ledger is released, whichever process failed to do so', () => {
  expect(found({ ended: 30, requests: [request] }, { recorded: [ID] })).toMatchObject([
    { kind: 'pending', repair: { included: ID } },
  ])
})

test('a running request that nobody renews is released', () => {
  const left = { ...request, state: 'running', lapsed: true } as const
  expect(found({ running: 30, requests: [left] })).toMatchObject([{ kind: 'lease', repair: { recount: true } }])
})

test('a request that ended long ago and never came to the ledger is reported and left to a person', () => {
  const requestId = requestIdAt(NOW_MS - 3_700_000)
  expect(found({ ended: 30, requests: [{ ...request, requestId }] })).toMatchObject([
    { kind: 'unreported', repair: {} },
  ])
})
