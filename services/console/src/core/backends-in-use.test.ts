import { describe, expect, test } from 'vitest'
import { describeCalls, describeCause, describeLeft, modelsLeft } from './backends-in-use.ts'

const model = (id: string, ...backends: string[]) => ({
  id,
  targets: backends.map((backend) => ({ backend, model: 'm', priority: 1, weight: 1 })),
})
const backends = [
  { id: 'a', state: 'usable' },
  { id: 'b', state: 'half-open' },
  { id: 'c', state: 'ejected' },
  { id: 'd', state: 'drained' },
] as const

describe('the backends that a model has left', () => {
  test('are the other ones that take requests', () => {
    expect(modelsLeft('a', backends, [model('x', 'a', 'b', 'c'), model('y', 'b')])).toEqual([
      { models: ['x'], left: 1, total: 3 },
    ])
  })

  test('stand once for all models of the same backends, the scarcest first', () => {
    const models = [model('x', 'a', 'b'), model('y', 'b', 'a', 'a'), model('z', 'a', 'c', 'd')]
    expect(modelsLeft('a', backends, models)).toEqual([
      { models: ['z'], left: 0, total: 3 },
      { models: ['x', 'y'], left: 1, total: 2 },
    ])
  })

  test('are the same before and after a second step on the same backend', () => {
    expect(modelsLeft('c', backends, [model('x', 'a', 'c')])).toEqual([{ models: ['x'], left: 1, total: 2 }])
  })
})

test('the words name the models, and count beyond three', () => {
  expect(describeLeft({ models: ['x'], left: 2, total: 3 })).toBe('2 of 3 backends of x are left.')
  expect(describeLeft({ models: ['x', 'y', 'z'], left: 0, total: 1 })).toBe('No backend of x, y, z is left.')
  expect(describeLeft({ models: ['w', 'x', 'y', 'z'], left: 1, total: 2 })).toBe(
    '1 of 2 backends of w, x and 2 others is left.',
  )
})

test('a step says how many calls under way finish', () => {
  expect(describeCalls('drain', 0)).toBe('No call is under way.')
  expect(describeCalls('drain', 1)).toBe('1 call under way finishes.')
  expect(describeCalls('eject', 12)).toBe('12 calls under way finish.')
})

test('the cause of an ejection has words, also one of a later release', () => {
  expect(describeCause('http_503')).toBe('it returned HTTP 503')
  expect(describeCause('connect')).toBe('it refuses connections')
  expect(describeCause('some_new_fault')).toBe('some new fault')
})
