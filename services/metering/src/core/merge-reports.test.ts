import fc from 'fast-check'
import { expect, test } from 'vitest'
import { requestIdAt, usageEvent } from '../../test/usage-events.ts'
import { groupByWindow, mergeReports } from './merge-reports.ts'
import { RANK, type Report } from './read-reports.ts'

const ids = Array.from({ length: 6 }, (_, index) => requestIdAt(Date.UTC(2026, 10, 1 + index)))

const report = fc
  .record({ id: fc.constantFrom(...ids), rank: fc.constantFrom(1, 2), charge: fc.nat(1000) })
  .map(({ id, rank, charge }): Report => ({ event: usageEvent({ requestId: id }), rank, charge, sequence: 1 }))

test("of several reports of a request one remains: the edge's first, else the router's that charges most", () => {
  fc.assert(
    fc.property(fc.array(report), (reports) => {
      for (const merged of mergeReports(reports)) {
        const same = reports.filter(({ event }) => event.requestId === merged.event.requestId)
        const ofEdge = same.find(({ rank }) => rank === RANK.edge)
        const most = Math.max(...same.map(({ charge }) => charge))
        expect(merged).toBe(ofEdge ?? same.find(({ charge }) => charge === most))
      }
    }),
  )
})

test('no request is lost or doubled, and ids come in order', () => {
  fc.assert(
    fc.property(fc.array(report), (reports) => {
      const merged = mergeReports(reports).map(({ event }) => event.requestId)
      expect(merged).toEqual([...new Set(reports.map(({ event }) => event.requestId))].sort())
    }),
  )
})

test('the same id in capitals is the same request', () => {
  const [id] = ids
  const twice = [id!, id!.toUpperCase()].map((requestId) => ({
    event: usageEvent({ requestId }),
    rank: 2,
    charge: 1,
    sequence: 1,
  }))
  expect(mergeReports(twice)).toHaveLength(1)
})

test('requests are grouped by account and window', () => {
  const events = [
    usageEvent({ account: 'aaaaaaaa' }),
    usageEvent({ account: 'bbbbbbbb' }),
    usageEvent({ account: 'aaaaaaaa', window: '2024-12' }),
    usageEvent({ account: 'aaaaaaaa' }),
  ]
  const groups = groupByWindow(
    events.map((event, index) => ({ event, rank: index < 3 ? 2 : 1, charge: 1, sequence: 1 })),
  )
  const included = (index: number, mayChange = false) => {
    return { requestId: events[index]!.requestId, tokens: 100, mayChange }
  }
  expect(groups).toEqual([
    { account: 'aaaaaaaa', window: '2025-01', included: [included(0), included(3, true)] },
    { account: 'bbbbbbbb', window: '2025-01', included: [included(1)] },
    { account: 'aaaaaaaa', window: '2024-12', included: [included(2)] },
  ])
})
