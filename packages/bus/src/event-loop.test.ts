import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { atTurnsEnd, endTurn, LivedTimeout } from './event-loop.ts'

test('work of one turn is done at its end, in order, and so is the work that it adds', async () => {
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

describe('a timeout over the time that this process lived through', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('fires once, when its time is over', async () => {
    const fire = vi.fn<() => void>()
    void new LivedTimeout(fire, 100)
    await vi.advanceTimersByTimeAsync(99)
    expect(fire).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(fire).toHaveBeenCalledTimes(1)
  })

  test('never fires once it is cleared, in the turn of its last tick neither', async () => {
    const fire = vi.fn<() => void>()
    const timeout = new LivedTimeout(fire, 100)
    await vi.advanceTimersByTimeAsync(80)
    setTimeout(() => timeout.clear(), 20)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(fire).not.toHaveBeenCalled()
  })

  test('a pause of the process counts as one tick, however long it is', async () => {
    vi.useRealTimers()
    let hasFired = false
    const timeout = new LivedTimeout(() => (hasFired = true), 400)
    const resumesAtMs = performance.now() + 1_200
    while (performance.now() < resumesAtMs);
    await new Promise((resolve) => setTimeout(resolve, 1))
    await new Promise((resolve) => setImmediate(resolve))
    expect(hasFired).toBe(false)
    timeout.clear()
  })
})
