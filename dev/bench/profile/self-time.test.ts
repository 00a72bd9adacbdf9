import { expect, test } from 'vitest'
import { partTimes, selfTimes } from './self-time.ts'

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

test('time is shared out among the functions that worked, the most first, by the function that the time was spent in', () => {
  expect(selfTimes(profile)).toEqual([
    { name: 'write', place: 'undici/lib/h1.js:10', share: 0.75 },
    { name: 'admit', place: 'services/edge/src/admit.ts:10', share: 0.25 },
  ])
})

test('time in the runtime is given to the part of the program that called it', () => {
  const nodes = [
    { id: 1, callFrame: frame('listen', 'file:///home/me/gateway/services/edge/src/listen.ts'), children: [2, 4] },
    { id: 2, callFrame: frame('call', 'file:///x/node_modules/.pnpm/a@1/node_modules/@a/b/c.js'), children: [3] },
    { id: 3, callFrame: frame('write', 'node:net'), children: [5] },
    { id: 4, callFrame: frame('hash') },
    { id: 5, callFrame: frame('writev') },
    { id: 6, callFrame: frame('(garbage collector)') },
    { id: 7, callFrame: frame('processTimers', 'node:internal/timers') },
  ]
  const samples = [3, 5, 4, 6, 7, 1]
  const shared = { nodes, startTime: 0, samples, timeDeltas: [0, 400, 300, 150, 100, 50] }
  expect(partTimes(shared)).toEqual([
    { part: '@a/b', share: 0.7 },
    { part: 'services/edge/src/listen.ts', share: 0.15 },
    { part: '(garbage collector)', share: 0.1 },
    { part: 'node', share: 0.05 },
  ])
})

test('only samples between the two moments count', () => {
  expect(selfTimes(profile, 1_500, 2_000).map(({ name }) => name)).toEqual(['write', 'admit'])
  expect(selfTimes(profile, 1_000, 1_050)).toEqual([
    { name: 'admit', place: 'services/edge/src/admit.ts:10', share: 1 },
  ])
})
