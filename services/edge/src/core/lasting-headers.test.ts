import { expect, test } from 'vitest'
import { lastingHeaders } from './lasting-headers.ts'

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
