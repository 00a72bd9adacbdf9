import { expect, test } from 'vitest'
import { silenceAllowed } from './attempt-patience.ts'

const timeouts = { firstByteMs: 30_000, idleMs: 20_000 }
const endless = { firstByteMs: Infinity, idleMs: Infinity }

test.each([
  { stream: true, othersLeft: true, allowed: timeouts },
  { stream: true, othersLeft: false, allowed: timeouts },
  { stream: false, othersLeft: true, allowed: timeouts },
  { stream: false, othersLeft: false, allowed: endless },
])('stream: $stream, others left: $othersLeft', ({ allowed, ...attempt }) => {
  expect(silenceAllowed(timeouts, attempt)).toEqual(allowed)
})
