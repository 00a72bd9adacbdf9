import { expect, test } from 'vitest'
import type { Standing } from '@gateway/admission/port'
import { anthropicLimitHeaders, lastingHeaders, standingHeaders } from './standing-headers.ts'

const standing: Standing = {
  plan: 'free',
  planVersion: 1,
  window: '2026-11',
  windowResetAtMs: Date.UTC(2026, 11, 1),
  used: 3_750,
  limit: 1_000_000_000,
  overage: false,
  requests: { limit: 60, remaining: 59, resetMs: 1_500 },
  tokens: { limit: 60_000, remaining: -12.5, resetMs: 360_000 },
  day: null,
  nowMs: Date.UTC(2026, 10, 21),
}

test('a client reads its standing in the units of its plan', () => {
  expect(standingHeaders(standing, 'tokens')).toEqual({
    'x-svc-quota-plan': 'free',
    'x-svc-quota-used': '3.75',
    'x-svc-quota-limit': '1000000',
    'x-svc-quota-reset': '2026-12-01T00:00:00.000Z',
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1.5s',
    'x-ratelimit-limit-tokens': '60000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '6m0s',
  })
})

test('the smallest amounts and long waits are written as clients read numbers', () => {
  const headers = standingHeaders(
    { ...standing, used: 120, tokens: { ...standing.tokens, resetMs: 119_600 } },
    'usd',
    3,
  )
  expect(headers['x-svc-quota-used']).toBe('0.000000123')
  expect(headers['x-ratelimit-reset-tokens']).toBe('2m0s')
})

test('what the answered request itself cost is counted where it is known', () => {
  expect(standingHeaders(standing, 'tokens', 1_250)['x-svc-quota-used']).toBe('5')
})

test('a client of the Messages API reads the same limits under the names that it knows', () => {
  expect(anthropicLimitHeaders(standing)).toEqual({
    'anthropic-ratelimit-requests-limit': '60',
    'anthropic-ratelimit-requests-remaining': '59',
    'anthropic-ratelimit-requests-reset': '2026-11-21T00:00:01.500Z',
    'anthropic-ratelimit-tokens-limit': '60000',
    'anthropic-ratelimit-tokens-remaining': '0',
    'anthropic-ratelimit-tokens-reset': '2026-11-21T00:06:00.000Z',
  })
})

test('what served an answer stays true of it, where the account stood does not', () => {
  const headers = {
    'x-svc-quota-used': '5',
    'x-ratelimit-remaining-requests': '59',
    'x-svc-upstream': 'nova',
    'x-svc-smart-route': 'svc-core; reason=everyday',
    'x-svc-warning': 'small cap',
    deprecation: '@1767225600',
  }
  const { 'x-svc-quota-used': _used, 'x-ratelimit-remaining-requests': _remaining, ...lasting } = headers
  expect(lastingHeaders(headers)).toEqual(lasting)
})
