import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { atTurnsEnd, endTurn } from './turn.ts'

test('what is added in one turn is done at its end, in order, and so is what that adds', async () => {
  const done: string[] = []
  atTurnsEnd(() => {
    done.push('first')
    atTurnsEnd(() => done.push('added'))
  })
  atTurnsEnd(() => done.push('second'))
  await Promise.resolve()
  expect(done).toEqual([])
  await nextTurn()
  expect(done).toEqual(['first', 'second', 'added'])
})

test('nobody has to wait for the end of the turn', () => {
  const done: string[] = []
  atTurnsEnd(() => done.push('now'))
  endTurn()
  expect(done).toEqual(['now'])
})

test('work that throws keeps nothing from being sent', async () => {
  const done: string[] = []
  atTurnsEnd(() => {
    throw new Error('a broken sender')
  })
  atTurnsEnd(() => done.push('the next one'))
  expect(endTurn).toThrow('a broken sender')
  await nextTurn()
  expect(done).toEqual(['the next one'])
})
