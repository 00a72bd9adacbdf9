import { describe, expect, test } from 'vitest'
import { readLimitResetMs, readRetryAfterMs, readRetryDelayMs } from './error-response.ts'

describe('the time that a backend requests', () => {
  const now = Date.parse('2026-11-21T00:00:00Z')
  test.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ 'retry-after': 'Sat, 21 Nov 2026 00:00:10 GMT' }, 10_000],
    [{ 'retry-after': 'Fri, 20 Nov 2026 00:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{}, null],
  ])('%j is %s ms', (headers, expected) => {
    expect(readRetryAfterMs(headers as Record<string, string>, now)).toBe(expected)
  })

  test.each([20, 30, 400])('of %i digits is a year, however it is written: JSON and headers can hold it', (count) => {
    const digits = '9'.repeat(count)
    const limit = { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': `${digits}h` }
    const body = JSON.stringify({ error: { details: [{ retryDelay: `${digits}s` }] } })
    const waits = [
      readRetryAfterMs({ 'retry-after': digits }, now),
      readRetryAfterMs({ 'retry-after-ms': digits }, now),
      readLimitResetMs(limit),
      readRetryDelayMs(body),
    ]
    expect(waits).toEqual(waits.map(() => 366 * 24 * 3_600_000))
  })
})
