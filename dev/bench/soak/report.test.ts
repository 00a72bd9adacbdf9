import { expect, test } from 'vitest'
import { slope } from './report.ts'
import { isExact } from './soak-result.ts'

test('growth is the slope of the samples, for any noise', () => {
  expect(
    slope([
      [0, 100],
      [1, 110],
      [2, 120],
    ]),
  ).toBeCloseTo(10)
  expect(
    slope([
      [0, 105],
      [1, 95],
      [2, 105],
      [3, 95],
      [4, 105],
    ]),
  ).toBeCloseTo(0)
  expect(slope([[1, 100]])).toBe(0)
})

test('a ledger is exact when nothing is lost, doubled or charged wrongly', () => {
  const exact = {
    completed: 10,
    rows: 10,
    expectedTokens: 1_760,
    tokens: 1_760,
    windowTotal: 5,
    charges: 5,
    failed: 0,
    firstFailure: '',
  }
  expect(isExact(exact)).toBe(true)
  for (const wrong of [{ rows: 9 }, { rows: 11 }, { tokens: 1_761 }, { windowTotal: 6 }]) {
    expect(isExact({ ...exact, ...wrong })).toBe(false)
  }
})
