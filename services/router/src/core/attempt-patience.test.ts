import { expect, test } from 'vitest'
import { endsAttempt, wasFaster } from './attempt-patience.ts'

test.each([
  { stream: true, others: true, silence: 'first_byte_timeout', ends: true },
  { stream: true, others: false, silence: 'first_byte_timeout', ends: false },
  { stream: true, others: true, silence: 'idle_timeout', ends: true },
  { stream: true, others: false, silence: 'idle_timeout', ends: true },
  { stream: false, others: true, silence: 'first_byte_timeout', ends: true },
  { stream: false, others: false, silence: 'first_byte_timeout', ends: false },
  { stream: false, others: true, silence: 'idle_timeout', ends: true },
  { stream: false, others: false, silence: 'idle_timeout', ends: false },
] as const)('stream: $stream, other targets: $others, $silence', ({ stream, others, silence, ends }) => {
  expect(endsAttempt(silence, { stream, othersLeft: () => others })).toBe(ends)
})

test('a target that is as slow as the one before it proves nothing against that one', () => {
  expect(wasFaster(900, 1_000)).toBe(true)
  expect(wasFaster(1_000, 1_000)).toBe(false)
})
