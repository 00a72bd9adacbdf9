import fc from 'fast-check'
import { expect, test } from 'vitest'
import { messageOf, usageEvent } from '../../test/usage-events.ts'
import { readReports } from './read-reports.ts'

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
