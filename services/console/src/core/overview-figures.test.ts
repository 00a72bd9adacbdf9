import { expect, test } from 'vitest'
import { countErrors, formatLatency, formatSpend, labelOf, measuresOf } from './overview-figures.ts'

const AT = Date.parse('2026-11-29T13:37:00Z') / 1_000

test('a bucket is named by its time in UTC, and by its day in a month', () => {
  expect([labelOf('hour', AT), labelOf('day', AT), labelOf('month', AT)]).toEqual(['13:37', '13:37', 'Nov 29'])
})

test.each([
  [{ spend_usd: 0, spend_tokens: 0 }, 'none'],
  [{ spend_usd: 12.345, spend_tokens: 0 }, '$12.35'],
  [{ spend_usd: 0, spend_tokens: 1_500.5 }, '1,501 tokens'],
  [{ spend_usd: 3, spend_tokens: 1 }, '$3.00 and 1 token'],
])('spend is written in the units that occur: %j', (spent, written) => {
  expect(formatSpend(spent)).toBe(written)
})

test('the chart has a measure for each unit of spend that occurs', () => {
  const measures = (usd: number, tokens: number) =>
    measuresOf({ spend_usd: usd, spend_tokens: tokens }).map(({ value }) => value)
  const always = ['requests', 'errors', 'p50', 'p99']
  expect(measures(0, 0)).toEqual(always)
  expect(measures(1, 1)).toEqual([...always, 'usd', 'tokens'])
})

test('errors of all codes add up, and no latency is no zero', () => {
  const errors = [
    { code: 'a', count: 2 },
    { code: 'b', count: 3 },
  ]
  expect(countErrors({ errors })).toBe(5)
  expect(formatLatency(null)).toBe('–')
  expect(formatLatency(12)).toBe('12 ms')
})
