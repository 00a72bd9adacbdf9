import { expect, test } from 'vitest'
import { selfTimes } from './self-time.ts'

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 9 })
const profile = {
  nodes: [
    { id: 1, callFrame: frame('(idle)') },
    { id: 2, callFrame: frame('admit', 'file:///home/me/gateway/services/edge/src/admit.ts') },
    { id: 3, callFrame: frame('write', 'file:///x/node_modules/.pnpm/undici@8/node_modules/undici/lib/h1.js') },
  ],
  startTime: 1_000,
  samples: [2, 1, 3, 2],
  timeDeltas: [0, 100, 500, 300],
}

test('time is shared out among what worked, the most first, by the function that the time was spent in', () => {
  expect(selfTimes(profile)).toEqual([
    { name: 'write', place: 'undici/lib/h1.js:10', share: 0.75 },
    { name: 'admit', place: 'services/edge/src/admit.ts:10', share: 0.25 },
  ])
})

test('only what lies between the two moments counts', () => {
  expect(selfTimes(profile, 1_500, 2_000).map(({ name }) => name)).toEqual(['write', 'admit'])
  expect(selfTimes(profile, 1_000, 1_050)).toEqual([
    { name: 'admit', place: 'services/edge/src/admit.ts:10', share: 1 },
  ])
})
