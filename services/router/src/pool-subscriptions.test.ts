import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openPoolSubscriptions, type PoolSubscriptions } from './pool-subscriptions.ts'

let nowMs: number
let subscriptions: PoolSubscriptions
let refused: number
beforeEach(() => {
  vi.useFakeTimers()
  nowMs = 0
  refused = 0
  subscriptions = openPoolSubscriptions(
    () => refused++,
    () => nowMs,
  )
})
afterEach(() => {
  subscriptions[Symbol.dispose]()
  vi.useRealTimers()
})

/** Turns of the event loop, each of which takes so long and begins with so many jobs. Returns how many were taken. */
function turns(count: number, tookMs: number, jobs: number): number {
  let taken = 0
  for (let turn = 0; turn < count; turn++) {
    for (let job = 0; job < jobs; job++) if (subscriptions.takes()) taken++
    nowMs += tookMs
    vi.advanceTimersByTime(20)
  }
  return taken
}

test('a router in time takes every job', () => {
  expect(turns(200, 20, 100)).toBe(20_000)
  expect(refused).toBe(0)
})

test('one long pause refuses nothing', () => {
  turns(50, 20, 10)
  turns(1, 2_000, 500)
  expect(turns(50, 20, 10)).toBe(500)
  expect(refused).toBe(0)
})

test('one that others on its machine starve gives nothing of a burst back', () => {
  turns(50, 400, 30)
  expect(turns(1, 400, 500)).toBe(500)
  expect(refused).toBe(0)
})

test('one whose every turn is long gives jobs back, never all of them, and takes all when it is in time again', () => {
  turns(50, 400, 500)
  expect(refused).toBeGreaterThan(0)
  expect(turns(10, 400, 500)).toBe(10 * 32)
  turns(250, 20, 10)
  expect(turns(50, 20, 100)).toBe(5_000)
})

test('a router without jobs does not wake up, once it takes as many as ever', () => {
  expect(vi.getTimerCount()).toBe(0)
  turns(50, 400, 500)
  turns(1, 20, 0)
  expect(vi.getTimerCount()).toBe(1)
  turns(250, 20, 0)
  expect(vi.getTimerCount()).toBe(0)
  expect(turns(50, 20, 100)).toBe(5_000)
})

test('the time that a router rests is no part of a turn', () => {
  turns(2, 20, 0)
  nowMs += 60_000
  expect(turns(1, 20, 500)).toBe(500)
  expect(subscriptions.limit).toBe(1_024)
})
