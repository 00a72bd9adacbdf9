/**
 * A proof fails by itself when clients were failed, or when nobody sent a request.
 */

import { expect, test } from 'vitest'
import type { Outcome } from '../../../tests/promises/load.ts'
import { expectNoFailure, wasOpenAt } from './outcomes.ts'

const outcome = (problem: string | null): Outcome => ({
  url: '',
  streamed: true,
  requestId: 'r',
  completed: problem === null,
  tokens: 0,
  problem,
  detail: '',
  startedAtMs: 10,
  endedAtMs: 20,
})

test('a failed response ends the proof, unless its failure is allowed', () => {
  const outcomes = [outcome(null), outcome('503'), outcome('broken')]
  expect(() => expectNoFailure(outcomes, ({ problem }) => problem === 'broken')).toThrow('1 of 3 responses failed')
  expect(expectNoFailure(outcomes, () => true)).toBe('3 responses, 1 503, 1 streams ended with an error')
})

test('silence is no proof', () => {
  expect(() => expectNoFailure([])).toThrow('nobody was served')
  expect(expectNoFailure([outcome(null)])).toBe('1 responses, 0 failed')
})

test('a response was open at a cut unless it ended before or began after', () => {
  const response = outcome(null)
  const open = [15, 10, 20, 9, 21].map((atMs) => wasOpenAt(response, { fromMs: atMs, toMs: atMs }))
  expect(open).toEqual([true, true, true, false, false])
  expect(wasOpenAt(response, { fromMs: 5, toMs: 30 })).toBe(true)
})
