import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromPlanUnit, toPlanUnit, writeInPlanUnit } from './units.ts'

describe('what people read', () => {
  test.each([
    [0, 'tokens', '0'],
    [1_000, 'tokens', '1'],
    [13_300, 'tokens', '13.3'],
    [1, 'tokens', '0.001'],
    [50_000_000_000, 'tokens', '50000000'],
    [999_999_999_999_999, 'tokens', '999999999999.999'],
    [3_000_000_000, 'usd', '3'],
    [1_125_000, 'usd', '0.001125'],
    [3_000, 'usd', '0.000003'],
    [1_234_567_890_123, 'usd', '1234.567890123'],
  ] as const)('%s in %s is written %s', (amount, unit, written) => {
    expect(String(toPlanUnit(amount, unit))).toBe(written)
  })

  test('a header holds the same number, in digits alone', () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), fc.constantFrom('tokens', 'usd'), (amount, unit) => {
        const written = writeInPlanUnit(amount, unit)
        expect(written).toMatch(/^\d+(?:\.\d*[1-9])?$/)
        expect(Number(written)).toBe(toPlanUnit(amount, unit))
      }),
    )
    expect(['tokens', 'usd'].map((unit) => writeInPlanUnit(10_000_000_000, unit as 'tokens' | 'usd'))).toEqual([
      '10000000',
      '10',
    ])
    expect(writeInPlanUnit(0, 'usd')).toBe('0')
  })

  test('no amount gets more decimals than its unit has', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e15 }), (amount) => {
        expect(Number(toPlanUnit(amount, 'tokens').toFixed(3))).toBe(toPlanUnit(amount, 'tokens'))
        expect(Number(toPlanUnit(amount, 'usd').toFixed(9))).toBe(toPlanUnit(amount, 'usd'))
      }),
    )
  })
})

describe('a limit', () => {
  test.each([
    [200_000, 'tokens', 200_000_000],
    [0.001, 'tokens', 1],
    [100, 'usd', 100_000_000_000],
    [0.1, 'usd', 100_000_000],
    [1.005, 'usd', 1_005_000_000],
  ] as const)('of %s %s is %s of the smallest unit', (limit, unit, amount) => {
    expect(fromPlanUnit(limit, unit)).toBe(amount)
  })

  test('comes back from what people read, to the last digit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e15 }), fc.constantFrom('tokens', 'usd'), (amount, unit) => {
        expect(fromPlanUnit(toPlanUnit(amount, unit), unit)).toBe(amount)
      }),
    )
  })
})
