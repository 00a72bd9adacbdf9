import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { everyDay, PERIODS, datesFor, roundScale } from './usage-days.ts'

const figures = {
  ...{ requests: 1, prompt_tokens: 2, completion_tokens: 3, cached_tokens: 0 },
  ...{ total_tokens: 5, allowance_tokens: 5, cost_usd: 0 },
}

describe('a period', () => {
  test.each([
    ['month', '2028-02-29', {}],
    ['month', undefined, {}],
    ['last-month', '2028-02-29', { from: '2028-01-01', to: '2028-01-31' }],
    ['last-month', '2028-03-01', { from: '2028-02-01', to: '2028-02-29' }],
    ['last-month', '2027-01-15', { from: '2026-12-01', to: '2026-12-31' }],
    ['last-month', undefined, null],
    ['30', '2028-02-29', { from: '2028-01-31', to: '2028-02-29' }],
    ['90', '2026-11-21', { from: '2026-08-24', to: '2026-11-21' }],
    ['90', undefined, null],
  ] as const)('%s on %s', (period, today, dates) => {
    expect(datesFor(period, today)).toEqual(dates)
  })

  test('does not depend on the browser’s clock', () => {
    const read = () => PERIODS.map(({ value }) => datesFor(value, '2026-11-21'))
    const before = read()
    vi.useFakeTimers({ now: Date.parse('2031-02-01T00:00:00Z') })
    try {
      expect(read()).toEqual(before)
    } finally {
      vi.useRealTimers()
    }
  })
})

test('a day without use is there with nothing', () => {
  const days = everyDay([{ day: '2026-11-02', ...figures }], { from: '2026-11-01', to: '2026-11-03' })
  expect(days.map(({ day, requests }) => [day, requests])).toEqual([
    ['2026-11-01', 0],
    ['2026-11-02', 1],
    ['2026-11-03', 0],
  ])
})

test('a scale begins at 0, has at most five round marks, and holds the highest', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-9, max: 1e15, noNaN: true }), (highest) => {
      const marks = roundScale(highest)
      expect(marks[0]).toBe(0)
      expect(marks.length).toBeLessThanOrEqual(5)
      expect(marks.at(-1)!).toBeGreaterThanOrEqual(highest * (1 - 1e-9))
      // No more than half of the height stays empty.
      expect(marks.at(-1)!).toBeLessThanOrEqual(highest * 2)
    }),
  )
  expect(roundScale(0)).toEqual([0, 1])
  expect(roundScale(870)).toEqual([0, 250, 500, 750, 1000])
  expect(roundScale(0.3)).toEqual([0, 0.1, 0.2, 0.3])
})
