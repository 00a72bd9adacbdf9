import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  bucketOf,
  emptyHistogram,
  type Histogram,
  LAST_BUCKET,
  mergeHistogram,
  observe,
  quantileMs,
} from './latency-histogram.ts'

const latencies = fc.array(fc.double({ min: 1, max: 600_000, noNaN: true }), { minLength: 1, maxLength: 200 })

function histogramOf(values: readonly number[]): Histogram {
  const histogram = emptyHistogram()
  for (const value of values) observe(histogram, value)
  return histogram
}

test('a quantile is at most 9.1 % from the exact one', () => {
  fc.assert(
    fc.property(latencies, fc.double({ min: 0.01, max: 1, noNaN: true }), (values, share) => {
      const exact = values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1]!
      const found = quantileMs(histogramOf(values), share)!
      expect(Math.abs(found - exact) / exact).toBeLessThan(0.091)
    }),
  )
})

test('the histograms of several edges add up to the one of a single edge, in any order', () => {
  fc.assert(
    fc.property(fc.array(latencies, { maxLength: 5 }), (parts) => {
      const merged = emptyHistogram()
      for (const part of parts.toReversed()) mergeHistogram(merged, histogramOf(part))
      expect(merged).toEqual(histogramOf(parts.flat()))
    }),
  )
})

test('any number has a bucket, and a histogram stays small', () => {
  fc.assert(
    fc.property(fc.array(fc.double()), (values) => {
      const { first, counts } = histogramOf(values)
      for (const value of values) expect(bucketOf(value)).toBeGreaterThanOrEqual(0)
      expect(first + counts.length).toBeLessThanOrEqual(LAST_BUCKET + 1)
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(values.length)
    }),
  )
})

test('without a latency there is no quantile', () => {
  expect(quantileMs(emptyHistogram(), 0.5)).toBeNull()
})
