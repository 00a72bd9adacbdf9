import { expect, test } from 'vitest'
import { formatModelPrice, priceSource } from './model-price.ts'

const rates = {
  input_usd_per_million: 1.25,
  output_usd_per_million: 10,
  cached_input_usd_per_million: null,
  source: 'a list',
  as_of: '2026-01-01',
}

test('a lane has a multiplier, a vendor’s model its rates, Auto neither', () => {
  expect(formatModelPrice({ type: 'chat', multiplier: 3.75, rates: null })).toBe('3.75×')
  expect(formatModelPrice({ type: 'chat', multiplier: null, rates })).toBe('$1.25 in, $10.00 out / M')
  expect(formatModelPrice({ type: 'auto', multiplier: null, rates: null })).toBe('as the chosen lane')
})

test('rates have their source and its day', () => {
  expect(priceSource({ rates })).toBe('a list, 2026-01-01')
  expect(priceSource({ rates: { ...rates, source: null, as_of: null } })).toBeNull()
  expect(priceSource({ rates: null })).toBeNull()
})
