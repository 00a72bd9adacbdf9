import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lastMinute, MINUTE_MS, waitForEmpty, waitForRoom, type SlidingLog } from './sliding-log.ts'

/** Pauses before each ask, in milliseconds. */
const pauses = fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1, maxLength: 200, size: 'max' })
const limit = fc.integer({ min: 1, max: 8 })

interface Ask {
  atMs: number
  waitMs: number
}

function askAll(asks: number[], max: number): Ask[] {
  let log: SlidingLog = []
  let nowMs = 0
  return asks.map((pauseMs) => {
    nowMs += pauseMs
    log = lastMinute(log, nowMs)
    const waitMs = waitForRoom(log, max, nowMs)
    if (waitMs === 0) log = [...log, nowMs]
    return { atMs: nowMs, waitMs }
  })
}

test('no 60 seconds ever hold more than the limit', () => {
  fc.assert(
    fc.property(pauses, limit, (asks, max) => {
      const admitted = askAll(asks, max).filter((ask) => ask.waitMs === 0)
      for (const first of admitted) {
        const within = admitted.filter(({ atMs }) => atMs >= first.atMs && atMs < first.atMs + MINUTE_MS)
        expect(within.length).toBeLessThanOrEqual(max)
      }
    }),
  )
})

test('nothing is refused unless the limit was reached in the 60 seconds before', () => {
  fc.assert(
    fc.property(pauses, limit, (asks, max) => {
      const asked = askAll(asks, max)
      asked.forEach(({ atMs, waitMs }, index) => {
        const before = asked.slice(0, index).filter((ask) => ask.waitMs === 0 && ask.atMs > atMs - MINUTE_MS)
        expect(waitMs > 0).toBe(before.length >= max)
      })
    }),
  )
})

test('waiting exactly as long as told admits, and a millisecond less does not', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 59_999 }), { minLength: 1, maxLength: 20 }), limit, (times, max) => {
      const log = times.sort((a, b) => a - b)
      const nowMs = 59_999
      const waitMs = waitForRoom(lastMinute(log, nowMs), max, nowMs)
      fc.pre(waitMs > 0)
      const at = (later: number) => waitForRoom(lastMinute(log, nowMs + later), max, nowMs + later)
      expect(at(waitMs)).toBe(0)
      expect(at(waitMs - 1)).toBe(1)
    }),
  )
})

test('the log is whole again a minute after its newest entry', () => {
  expect(waitForEmpty([], 5)).toBe(0)
  expect(waitForEmpty([1000, 4000], 5000)).toBe(59_000)
  expect(lastMinute([1000, 4000], 61_000)).toEqual([4000])
  expect(lastMinute([1000, 4000], 64_000)).toEqual([])
})
