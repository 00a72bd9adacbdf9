import fc from 'fast-check'
import { expect, test } from 'vitest'
import { messageOf, requestIdAt, usageEvent } from '../../test/usage-events.ts'
import { groupByWindow, mergeReports, RANK, readReports, type Report } from './reports.ts'

test('an event becomes a report with its rank and its charge', () => {
  const event = usageEvent({
    tokens: 1000,
    price: { kind: 'multiplier', milliTokensPerToken: 1500 },
    reporter: 'router',
  })
  const { reports, rejected } = readReports([messageOf(event)])
  expect(rejected).toEqual([])
  expect(reports).toEqual([{ event, rank: 1, charge: 1_500_000, sequence: 1 }])
})

test('a message that is no batch of events is set aside with its bytes and the reason', () => {
  const payloads = ['', 'not json', 'null', '[]', '{"v":2,"events":[]}', '{"v":1,"events":7}'].map((text) =>
    Buffer.from(text),
  )
  const { reports, rejected } = readReports(payloads.map((payload, sequence) => ({ payload, sequence })))
  expect(reports).toEqual([])
  expect(rejected.map(({ payload, sequence }) => ({ payload, sequence }))).toEqual(
    payloads.map((payload, sequence) => ({ payload, sequence })),
  )
  expect(rejected.every(({ reason }) => reason.length > 0)).toBe(true)
})

test('a bad event does not take the good ones of its message with it', () => {
  const good = [usageEvent(), usageEvent()]
  const bad = { ...usageEvent(), window: 'next month' }
  const { reports, rejected } = readReports([messageOf(good[0], bad, good[1])])
  expect(reports.map(({ event }) => event)).toEqual(good)
  expect(rejected.map(({ payload }) => JSON.parse(Buffer.from(payload).toString()))).toEqual([bad])
})

test('a charge that no number holds exactly is set aside', () => {
  const event = usageEvent({
    tokens: 1e9,
    price: { kind: 'multiplier', milliTokensPerToken: 1e7 },
  })
  const { reports, rejected } = readReports([messageOf(event)])
  expect(reports).toEqual([])
  expect(rejected).toHaveLength(1)
})

test('a report with words and fields that only a newer version knows is billed as it would be without them', () => {
  const word = fc.string()
  const added = fc.dictionary(
    word.map((name) => `later-${name}`),
    fc.jsonValue(),
  )
  const changes = fc.record({ outcome: word, ended: word, more: added, inUsage: added, inPrice: added })
  fc.assert(
    fc.property(changes, fc.constantFrom('edge', 'router'), ({ outcome, ended, more, inUsage, inPrice }, reporter) => {
      const event = usageEvent({ reporter })
      const attempt = { backend: 'a', model: 'm', outcome: ended, durationMs: 1, ...more }
      const { usage, price } = event
      const written = { ...more, ...event, outcome, attempts: [attempt], usage: { ...inUsage, ...usage } }
      const { reports, rejected } = readReports([messageOf({ ...written, price: { ...inPrice, ...price } })])
      const [known] = readReports([messageOf(event)]).reports
      expect(rejected).toEqual([])
      expect(reports).toMatchObject([{ ...known, event: { ...event, outcome, attempts: [{ outcome: ended }] } }])
    }),
  )
})

test('a report of a reporter that only a newer version knows is billed, and an edge outranks it', () => {
  const { reports, rejected } = readReports([messageOf({ ...usageEvent(), reporter: 'auditor' })])
  expect(rejected).toEqual([])
  expect(reports).toMatchObject([{ rank: 1, charge: 150_000 }])
})

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
    { account: 'aaaaaaaa', window: '2025-01', keyIds: ['key00001'], included: [included(0), included(3, true)] },
    { account: 'bbbbbbbb', window: '2025-01', keyIds: ['key00001'], included: [included(1)] },
    { account: 'aaaaaaaa', window: '2024-12', keyIds: ['key00001'], included: [included(2)] },
  ])
})
