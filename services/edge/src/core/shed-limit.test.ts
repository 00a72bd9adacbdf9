import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createShedLimit,
  hasCapacity,
  hasCapacityForStranger,
  isAtRest,
  judge,
  noteRefusedBehind,
  noteTurnedAway,
  noteWait,
  WINDOW_MS,
  type ShedLimit,
} from './shed-limit.ts'

const TUNING = { targetMs: 250, least: 64, most: 1_024 }
const STEP_MS = 10

interface Second {
  done: number
  refused: number
  /** The longest wait of the served requests. */
  longestMs: number
}

interface Plant {
  limit: ShedLimit
  nowMs: number
  queue: number[]
  credit: number
  due: number
}

const openPlant = (): Plant => ({ limit: createShedLimit(TUNING, 0), nowMs: 0, queue: [], credit: 0, due: 0 })

/**
 * A process that serves `capacity` requests a second, one after another, and receives `offered`. `pauseMs`: it stands still so
 * long.
 */
function run(plant: Plant, seconds: number, offered: number, capacity: number, pauseMs = 0): Second[] {
  const results: Second[] = []
  let pausedUntilMs = pauseMs > 0 ? plant.nowMs + 500 + pauseMs : 0
  const pauseFromMs = plant.nowMs + 500
  let judgeAtMs = plant.nowMs + WINDOW_MS
  for (let second = 0; second < seconds; second++) {
    const result = { done: 0, refused: 0, longestMs: 0 }
    for (let step = 0; step < 1_000 / STEP_MS; step++) {
      plant.nowMs += STEP_MS
      plant.due += (offered * STEP_MS) / 1_000
      // After a pause, the process finds all requests of the pause at once.
      if (plant.nowMs > pauseFromMs && plant.nowMs <= pausedUntilMs) continue
      pausedUntilMs = 0
      for (; plant.due >= 1; plant.due--) {
        if (hasCapacity(plant.limit, plant.queue.length, plant.nowMs)) plant.queue.push(plant.nowMs)
        else result.refused++
      }
      plant.credit = Math.min(plant.credit + (capacity * STEP_MS) / 1_000, Math.max(1, plant.queue.length))
      for (; plant.credit >= 1 && plant.queue.length > 0; plant.credit--) {
        const sinceMs = plant.queue.shift()!
        noteWait(plant.limit, sinceMs, plant.nowMs)
        result.done++
        result.longestMs = Math.max(result.longestMs, plant.nowMs - sinceMs)
      }
      if (plant.nowMs >= judgeAtMs) {
        judge(plant.limit, plant.queue.length, plant.nowMs)
        judgeAtMs = plant.nowMs + WINDOW_MS
      }
    }
    results.push(result)
  }
  return results
}

const sum = (results: Second[], key: 'done' | 'refused') => results.reduce((total, second) => total + second[key], 0)

describe('a process serves the same number of requests at any load', () => {
  test.each([
    [500, 1],
    [500, 3],
    [2_000, 2],
    [2_000, 3],
    [2_000, 5],
    [2_000, 50],
    [10_000, 5],
  ])('at a capacity of %i a second and %i times that', (capacity, times) => {
    // A slow process needs two seconds and more for the requests that it took at first.
    const results = run(openPlant(), 25, capacity * times, capacity).slice(10)
    expect(sum(results, 'done')).toBeGreaterThan(0.95 * capacity * results.length)
    for (const { longestMs } of results) expect(longestMs).toBeLessThan(2 * TUNING.targetMs)
  })

  test('for any capacity and any load above it', () => {
    // A slower process needs longer for the requests that it took at first.
    const anyCapacity = fc.integer({ min: 200, max: 20_000 })
    fc.assert(
      fc.property(anyCapacity, fc.double({ min: 1.2, max: 20, noNaN: true }), (capacity, times) => {
        const results = run(openPlant(), 25, capacity * times, capacity).slice(15)
        expect(sum(results, 'done')).toBeGreaterThan(0.9 * capacity * results.length)
        for (const { longestMs } of results) expect(longestMs).toBeLessThan(2 * TUNING.targetMs + 1_000 / capacity)
      }),
      { numRuns: 60 },
    )
  })
})

test('nothing is refused at a load that is held, for any capacity', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 20, max: 20_000 }),
      fc.double({ min: 0, max: 0.95, noNaN: true }),
      (capacity, part) => {
        expect(sum(run(openPlant(), 10, capacity * part, capacity), 'refused')).toBe(0)
      },
    ),
    { numRuns: 40 },
  )
})

test.each([100, 250, 400])('one pause of %i ms of a busy process refuses nobody', (pauseMs) => {
  const plant = openPlant()
  run(plant, 3, 1_500, 2_000)
  expect(sum(run(plant, 5, 1_500, 2_000, pauseMs), 'refused')).toBe(0)
  expect(plant.limit.value).toBeGreaterThanOrEqual(TUNING.most)
})

test('an outage of three seconds, after which all that waited comes at once, refuses nobody', () => {
  const limit = createShedLimit(TUNING, 0)
  let nowMs = 0
  for (; nowMs < 3_000; nowMs += WINDOW_MS) {
    expect(hasCapacity(limit, 300, nowMs)).toBe(true)
    judge(limit, 300, nowMs)
  }
  for (let i = 0; i < 300; i++) noteWait(limit, 100, nowMs)
  judge(limit, 0, nowMs)
  for (; nowMs < 5_000; nowMs += WINDOW_MS) {
    for (let i = 0; i < 50; i++) noteWait(limit, nowMs - 10, nowMs)
    judge(limit, 5, nowMs)
    expect(limit.value).toBe(TUNING.most)
  }
})

test('the limit recovers within seconds after a load that was far too high', () => {
  const plant = openPlant()
  run(plant, 20, 40_000, 1_000)
  const after = run(plant, 10, 600, 1_000)
  expect(sum(after.slice(3), 'refused')).toBe(0)
  expect(plant.limit.value).toBe(TUNING.most)
})

test('the limit follows a capacity that falls and comes back', () => {
  const plant = openPlant()
  run(plant, 5, 3_000, 2_000)
  const fallen = run(plant, 10, 3_000, 200).slice(5)
  expect(sum(fallen, 'done')).toBeGreaterThan(0.9 * 200 * fallen.length)
  const back = run(plant, 15, 3_000, 2_000).slice(8)
  expect(sum(back, 'done')).toBeGreaterThan(0.9 * 2_000 * back.length)
})

const anyEvent = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 60_000 }) }),
  fc.record({ kind: fc.constant('refused' as const), ms: fc.constant(0) }),
  fc.record({ kind: fc.constant('judge' as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
)

test('something always goes through, however late the process is', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 200 }), fc.nat(2_000), (events, count) => {
      const limit = createShedLimit(TUNING, 0)
      let nowMs = 0
      for (const { kind, ms } of events) {
        if (kind === 'wait') noteWait(limit, nowMs, nowMs + ms)
        else if (kind === 'refused') noteRefusedBehind(limit)
        else judge(limit, count, (nowMs += ms))
        expect(limit.value).toBeGreaterThanOrEqual(TUNING.least)
        expect(hasCapacity(limit, TUNING.least - 1, nowMs)).toBe(true)
      }
    }),
  )
})

test('a process without requests comes to rest after any history, and then further windows change nothing', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 100 }), fc.nat(2_000), (events, count) => {
      const limit = createShedLimit(TUNING, 0)
      let nowMs = 0
      for (const { kind, ms } of events) {
        hasCapacity(limit, count, nowMs)
        if (kind === 'wait') noteWait(limit, nowMs, (nowMs += ms))
        else if (kind === 'refused') noteRefusedBehind(limit)
        else judge(limit, count, (nowMs += ms))
      }
      for (let window = 0; window < 40; window++) judge(limit, 0, (nowMs += WINDOW_MS))
      expect(isAtRest(limit)).toBe(true)
      const before = { ...limit }
      judge(limit, 0, (nowMs += WINDOW_MS))
      expect(limit).toEqual({ ...before, windowFromMs: nowMs })
    }),
  )
})

test('senders that are turned away in time are no sign of lateness, and no witness that hides it', () => {
  const limit = createShedLimit(TUNING, 0)
  for (let nowMs = WINDOW_MS; nowMs < 20_000; nowMs += WINDOW_MS) {
    hasCapacity(limit, 500, nowMs)
    noteTurnedAway(limit)
    judge(limit, 500, nowMs)
  }
  expect(limit.value).toBe(TUNING.most)
  for (let nowMs = 20_000; nowMs < 30_000; nowMs += WINDOW_MS) {
    hasCapacity(limit, 500, nowMs)
    noteTurnedAway(limit)
    for (let i = 0; i < 10; i++) noteWait(limit, nowMs - 1, nowMs + 999)
    judge(limit, 500, nowMs)
  }
  expect(limit.value).toBe(TUNING.least)
})

test.each([
  ['late', (limit: ShedLimit, nowMs: number) => noteWait(limit, nowMs, nowMs + 2_000)],
  ['refused behind', noteRefusedBehind],
])('few that are %s are no load: a burst after them is served', (_, note) => {
  const limit = createShedLimit(TUNING, 0)
  limit.value = TUNING.least
  for (let nowMs = 1_000; nowMs < 20_000; nowMs += 1_000) {
    hasCapacity(limit, TUNING.least - 1, nowMs)
    for (let i = 0; i < TUNING.least; i++) note(limit, nowMs)
    judge(limit, 0, nowMs)
  }
  expect(limit.value).toBe(TUNING.most)
  expect(hasCapacity(limit, 500, 30_000)).toBe(true)
})

test('while the process is late, strangers have half of the capacity, and known senders all of it', () => {
  const limit = createShedLimit(TUNING, 0)
  expect(hasCapacityForStranger(limit, TUNING.most - 1, 0)).toBe(true)
  limit.value = 200
  expect([99, 100].map((count) => hasCapacityForStranger(limit, count, 0))).toEqual([true, false])
  expect([199, 200].map((count) => hasCapacity(limit, count, 0))).toEqual([true, false])
})

test('requests that the routers give back count as lateness, a few of them do not', () => {
  const limit = createShedLimit(TUNING, 0)
  const window = (nowMs: number, refused: number) => {
    hasCapacity(limit, 299, nowMs)
    for (let i = 0; i < 100; i++) noteWait(limit, nowMs - 200, nowMs - 195)
    for (let i = 0; i < refused; i++) noteRefusedBehind(limit)
    judge(limit, 100, nowMs)
  }
  window(250, 5)
  window(500, 5)
  expect(limit.value).toBe(TUNING.most)
  window(750, 30)
  window(1_000, 30)
  expect(limit.value).toBe(150)
})
