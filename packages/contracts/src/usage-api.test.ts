import fc from 'fast-check'
import { expect, test } from 'vitest'
import { completeUsageQuestion, longestUsageSpanDays, usageQuery, type UsageQuery } from './usage-api.ts'

const NOW_MS = Date.parse('2026-11-20T23:30:00Z')
const question = (query: object) => completeUsageQuestion(usageQuery.parse(query), NOW_MS)

test('an empty query means the current month so far, by day', () => {
  expect(question({})).toEqual({ from: '2026-11-01', to: '2026-11-20', group_by: 'day' })
})

test('either end may be given alone', () => {
  expect(question({ from: '2026-10-05' })).toMatchObject({ from: '2026-10-05', to: '2026-11-20' })
  expect(question({ to: '2026-11-30' })).toMatchObject({ from: '2026-11-01', to: '2026-11-30' })
})

test.each<[Partial<UsageQuery>, RegExp]>([
  [{ from: '2026-11-02', to: '2026-11-01' }, /^from: /],
  [{ from: '2026-11-21' }, /^from: /],
  [{ to: '2026-10-31' }, /^to: /],
  [{ from: '2025-11-20', to: '2026-11-21' }, /^to: 367 days/],
  [{ session: 'one' }, /^session: needs/],
])('%o is refused by the field at fault', (query, message) => {
  expect(() => question(query)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }))
  expect(() => question(query)).toThrow(message)
})

test('one session is shown by session or by agent', () => {
  const query = { group_by: 'agent', session: 'one' }
  expect(question(query)).toEqual({ from: '2026-11-01', to: '2026-11-20', ...query })
})

test('a leap year is not too long', () => {
  expect(question({ from: '2028-01-01', to: '2028-12-31' })).toMatchObject({ to: '2028-12-31' })
})

test('every request gets days in order and not too many, or a refusal', () => {
  const day = fc.date({ min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  const date = fc.option(
    day.map((at) => at.toISOString().slice(0, 10)),
    { nil: undefined },
  )
  fc.assert(
    fc.property(date, date, (from, to) => {
      try {
        const span = question({ from, to })
        const days = (Date.parse(span.to) - Date.parse(span.from)) / 86_400_000 + 1
        expect(days).toBeGreaterThanOrEqual(1)
        expect(days).toBeLessThanOrEqual(longestUsageSpanDays)
      } catch (error) {
        expect(error).toMatchObject({ code: 'VALIDATION_ERROR' })
      }
    }),
  )
})
