import { expect, test } from 'vitest'
import { timeForHeadersMs, type SdkTimeouts } from './client-timeouts.ts'

const WITHIN = { streamHeadersWithinMs: 15_000 }

test.each<[SdkTimeouts, number, number]>([
  [{}, Infinity, Infinity],
  [{ 'x-stainless-timeout': '3' }, 3_000, 3_000],
  [{ 'x-stainless-read-timeout': '2.5' }, 2_500, 2_500],
  [{ 'x-stainless-timeout': '3', 'x-stainless-read-timeout': '2.5' }, 2_500, 2_500],
  [{ 'x-stainless-timeout': '60' }, Infinity, 60_000],
  [{ 'x-stainless-read-timeout': '600' }, Infinity, 600_000],
  [{ 'x-stainless-timeout': '0' }, Infinity, Infinity],
  [{ 'x-stainless-timeout': '-1' }, Infinity, Infinity],
  [{ 'x-stainless-timeout': 'NOT_GIVEN', 'x-stainless-read-timeout': '7' }, 7_000, 7_000],
  [{ 'x-stainless-read-timeout': 'inf' }, Infinity, Infinity],
  [{ 'x-stainless-read-timeout': 'Infinity' }, Infinity, Infinity],
  [{ 'x-stainless-timeout': '' }, Infinity, Infinity],
])('%j: a stream has %s ms, a plain response %s ms', (said, stream, plain) => {
  expect(timeForHeadersMs(said, { stream: true, ...WITHIN })).toBe(stream)
  expect(timeForHeadersMs(said, { stream: false, ...WITHIN })).toBe(plain)
})
