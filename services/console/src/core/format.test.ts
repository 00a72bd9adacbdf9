import { describe, expect, test } from 'vitest'
import {
  formatAgo,
  formatAmount,
  formatDuration,
  formatPrice,
  formatShare,
  formatUntil,
  formatUsd,
  formatWait,
} from './format.ts'

describe('dollars show that something is there', () => {
  test.each([
    [0, '$0.00'],
    [12.3, '$12.30'],
    [0.5, '$0.50'],
    [0.0213, '$0.0213'],
    [0.000213, '$0.000213'],
    [0.000000001, '$0.000000001'],
  ])('%d', (value, text) => expect(formatUsd(value)).toBe(text))
})

test('amounts have the unit of their plan', () => {
  expect(formatAmount(1234.5, 'tokens')).toBe('1,234.5 tokens')
  expect(formatAmount(1, 'tokens')).toBe('1 token')
  expect(formatAmount(1.5, 'usd')).toBe('$1.50')
})

test('a share is whole only where all is part of it, and there is none of nothing', () => {
  expect([formatShare(1, 3), formatShare(999, 1_000), formatShare(7, 7), formatShare(0, 7)]).toEqual([
    '33%',
    '99%',
    '100%',
    '0%',
  ])
  expect(formatShare(0, 0)).toBe('–')
})

test('prices are written as their plan bills', () => {
  expect(formatPrice({ multiplier: 3.75 })).toBe('3.75×')
  expect(formatPrice({ usd_per_million: 11.25 })).toBe('$11.25 / M')
  const vendor = { input_usd_per_million: 1.25, cached_input_usd_per_million: 0.125, output_usd_per_million: 10 }
  expect(formatPrice(vendor)).toBe('$1.25 in, $10.00 out / M')
})

describe('times are relative to now', () => {
  const now = Date.parse('2026-11-21T12:00:00Z')
  test.each([
    ['2026-12-01T00:00:00Z', 'in 9 days'],
    ['2026-11-22T00:00:00Z', 'in 12 hours'],
    ['2026-11-21T12:00:30Z', 'in 1 minute'],
  ])('until %s', (iso, text) => expect(formatUntil(iso, now)).toBe(text))
  test.each([
    ['2026-11-21T11:59:40Z', 'just now'],
    ['2026-11-21T12:00:05Z', 'just now'],
    ['2026-11-21T11:15:00Z', '45 minutes ago'],
    ['2026-11-20T12:00:00Z', 'yesterday'],
    ['2026-11-01T12:00:00Z', '20 days ago'],
  ])('since %s', (iso, text) => expect(formatAgo(iso, now)).toBe(text))
})

test('waits are never shown shorter than they are', () => {
  expect([200, 1_001, 60_000, 121_000, 3 * 3_600_000].map(formatWait)).toEqual([
    ...['a second', '2 seconds', '60 seconds', '3 minutes', '3 hours'],
  ])
})

test('durations have three figures at most', () => {
  expect([12.4, 999, 1_234, 12_345].map(formatDuration)).toEqual(['12 ms', '999 ms', '1.23 s', '12.3 s'])
})
