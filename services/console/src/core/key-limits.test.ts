import { expect, test } from 'vitest'
import { AS_IT_IS, describeLimits, readExpiry, readFigure } from './key-limits.ts'

const NONE = { models: null, monthly_limit: null, max_requests_per_1_minute: null, max_tokens_per_1_minute: null }

test('the page shows the monthly limit of a key in the unit of its plan', () => {
  expect(describeLimits(NONE, 'usd')).toEqual([])
  const limits = { ...NONE, monthly_limit: 50, max_requests_per_1_minute: 1_000, models: ['svc-fast'] }
  expect(describeLimits(limits, 'usd')).toEqual(['$50.00 a month', '1,000 requests a minute', 'svc-fast'])
  expect(describeLimits({ ...NONE, monthly_limit: 5_000 }, 'tokens')).toEqual(['5,000 tokens a month'])
  expect(describeLimits({ ...NONE, models: [] }, 'usd')).toEqual(['no model'])
  expect(describeLimits({ ...NONE, models: ['a', 'b', 'c', 'd'] }, 'usd')).toEqual(['4 models'])
})

test('an empty field removes a limit, and a kept expiry is not sent', () => {
  expect(readFigure(' ')).toBeNull()
  expect(readFigure('2.5')).toBe(2.5)
  expect(readExpiry('')).toEqual({ expires_in_seconds: null })
  expect(readExpiry('7')).toEqual({ expires_in_seconds: 604_800 })
  expect(readExpiry(AS_IT_IS)).toEqual({})
})
