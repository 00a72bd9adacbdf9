import { expect, test } from 'vitest'
import { dayOf, monthNamed, monthOf } from './month.ts'

test.each([
  ['2026-01-01T00:00:00.000Z', '2026-01', '2026-02-01T00:00:00.000Z'],
  ['2026-11-30T23:59:59.999Z', '2026-11', '2026-12-01T00:00:00.000Z'],
  ['2026-12-31T23:59:59.999Z', '2026-12', '2027-01-01T00:00:00.000Z'],
  ['2028-02-29T12:00:00.000Z', '2028-02', '2028-03-01T00:00:00.000Z'],
])('%s lies in %s, which ends at %s', (now, window, end) => {
  const month = { window, resetsAtMs: Date.parse(end) }
  expect(monthOf(Date.parse(now))).toEqual(month)
  expect(monthNamed(window)).toEqual(month)
})

test('a day begins at midnight in UTC', () => {
  expect(dayOf(Date.UTC(1970, 0, 2) - 1)).toBe(0)
  expect(dayOf(Date.UTC(1970, 0, 2))).toBe(1)
})
