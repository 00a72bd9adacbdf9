import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thresholdsReached } from './thresholds.ts'

test.each([
  [0, []],
  [799, []],
  [800, [80]],
  [999, [80]],
  [1_000, [80, 100]],
  [5_000, [80, 100]],
])('%i used of 1000 has reached %j', (used, reached) => {
  expect(thresholdsReached(used, 1_000)).toEqual(reached)
})

test('a plan without an allowance has no thresholds', () => {
  expect(thresholdsReached(7, 0)).toEqual([])
})

test('the largest amounts are judged to the last unit', () => {
  const limit = Number.MAX_SAFE_INTEGER
  expect(thresholdsReached(limit - 1, limit)).toEqual([80])
  expect(thresholdsReached(limit, limit)).toEqual([80, 100])
})

test('more use never reaches fewer thresholds', () => {
  const amount = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
  fc.assert(
    fc.property(amount, amount, amount, (a, b, limit) => {
      const [less, more] = [Math.min(a, b), Math.max(a, b)]
      expect(thresholdsReached(more, limit)).toEqual(expect.arrayContaining(thresholdsReached(less, limit)))
    }),
  )
})
