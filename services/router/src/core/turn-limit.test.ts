import fc from 'fast-check'
import { expect, test } from 'vitest'
import { afterTurn, createTurnLimit } from './turn-limit.ts'

const TUNING = { targetMs: 60, least: 32, most: 1_024 }

test('a few turns after the jobs have become so dear, a turn takes no longer than it may', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.01, max: 1.8, noNaN: true }),
      fc.integer({ min: 33, max: 5_000 }),
      (jobMs, offered) => {
        const limit = createTurnLimit(TUNING)
        for (let turn = 0; turn < 60; turn++) {
          const begun = Math.min(offered, limit.value)
          if (turn > 10)
            expect(begun * jobMs).toBeLessThanOrEqual(Math.max(TUNING.targetMs * 1.3, TUNING.least * jobMs))
          afterTurn(limit, begun, begun * jobMs)
        }
      },
    ),
  )
})

test('turns that are long with few jobs are so for another cause, and a process in time takes all again', () => {
  const limit = createTurnLimit(TUNING)
  for (let turn = 0; turn < 50; turn++) afterTurn(limit, TUNING.least, 5_000)
  expect(limit.value).toBe(TUNING.most)
  for (let turn = 0; turn < 50; turn++) afterTurn(limit, 1_000, 5_000)
  expect(limit.value).toBe(TUNING.least)
  for (let turn = 0; turn < 50; turn++) afterTurn(limit, 0, 20)
  expect(limit.value).toBe(TUNING.most)
})
