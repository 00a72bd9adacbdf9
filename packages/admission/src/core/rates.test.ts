import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  corrected,
  lastMinute,
  MINUTE_MS,
  refilled,
  type SlidingLog,
  taken,
  type TokenBucket,
  tokensLeft,
  waitForEmpty,
  waitForFull,
  waitForRequest,
  waitForTokens,
} from './rates.ts'

/** The pauses before each request, in milliseconds. */
const pauses = fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1, maxLength: 200, size: 'max' })
const limit = fc.integer({ min: 1, max: 8 })

interface Attempt {
  atMs: number
  waitMs: number
}

function attemptAll(attempts: number[], max: number): Attempt[] {
  let log: SlidingLog = []
  let nowMs = 0
  return attempts.map((pauseMs) => {
    nowMs += pauseMs
    log = lastMinute(log, nowMs)
    const waitMs = waitForRequest(log, max, nowMs)
    if (waitMs === 0) log = [...log, nowMs]
    return { atMs: nowMs, waitMs }
  })
}

test('no 60 seconds ever hold more than the limit', () => {
  fc.assert(
    fc.property(pauses, limit, (attempts, max) => {
      const admitted = attemptAll(attempts, max).filter((request) => request.waitMs === 0)
      for (const first of admitted) {
        const within = admitted.filter(({ atMs }) => atMs >= first.atMs && atMs < first.atMs + MINUTE_MS)
        expect(within.length).toBeLessThanOrEqual(max)
      }
    }),
  )
})

test('nothing is refused unless the limit was reached in the 60 seconds before', () => {
  fc.assert(
    fc.property(pauses, limit, (attempts, max) => {
      const attempted = attemptAll(attempts, max)
      attempted.forEach(({ atMs, waitMs }, index) => {
        const before = attempted
          .slice(0, index)
          .filter((request) => request.waitMs === 0 && request.atMs > atMs - MINUTE_MS)
        expect(waitMs > 0).toBe(before.length >= max)
      })
    }),
  )
})

test('waiting exactly the returned time admits, and a millisecond less does not', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 59_999 }), { minLength: 1, maxLength: 20 }), limit, (times, max) => {
      const log = times.sort((a, b) => a - b)
      const nowMs = 59_999
      const waitMs = waitForRequest(lastMinute(log, nowMs), max, nowMs)
      fc.pre(waitMs > 0)
      const at = (later: number) => waitForRequest(lastMinute(log, nowMs + later), max, nowMs + later)
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

const perMinute = fc.integer({ min: 1, max: 1_000_000_000 })
const tokens = fc.integer({ min: 0, max: 10_000_000 })
const bucket = fc
  .record({ perMinute, takes: fc.array(tokens, { maxLength: 5 }), laterMs: fc.integer({ min: 0, max: 100_000 }) })
  .map(({ perMinute: rate, takes, laterMs }) => {
    const used = takes.reduce((level: TokenBucket, size) => taken(level, size), refilled(null, rate, 0))
    return refilled(used, rate, laterMs)
  })

test('waiting exactly the returned time is enough, and a millisecond less is not', () => {
  fc.assert(
    fc.property(bucket, tokens, (level, size) => {
      const waitMs = waitForTokens(level, size)
      expect(Number.isSafeInteger(waitMs)).toBe(true)
      const at = (later: number) => waitForTokens(refilled(level, level.perMinute, level.atMs + later), size)
      expect(at(waitMs)).toBe(0)
      if (waitMs > 0) expect(at(waitMs - 1)).toBe(1)
    }),
  )
})

test('refilling in steps is refilling at once', () => {
  fc.assert(
    fc.property(bucket, fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 10 }), (level, steps) => {
      const end = steps.reduce((atMs, step) => atMs + step, level.atMs)
      const inSteps = steps.reduce((now, step) => refilled(now, now.perMinute, now.atMs + step), level)
      expect(inSteps).toEqual(refilled(level, level.perMinute, end))
    }),
  )
})

test("over any time, no more is admitted than a full bucket, the refill, and the last request's excess", () => {
  const attempts = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 3000 })), {
    maxLength: 50,
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), attempts, (rate, sequence) => {
      let level = refilled(null, rate, 0)
      let admitted = 0
      let largest = 0
      for (const [pauseMs, size] of sequence) {
        level = refilled(level, rate, level.atMs + pauseMs)
        if (waitForTokens(level, size) > 0) continue
        level = taken(level, size)
        admitted += size
        largest = Math.max(largest, size)
      }
      expect(admitted).toBeLessThanOrEqual(rate + (level.atMs * rate) / 60_000 + largest)
    }),
  )
})

test('a correction leaves the bucket as if the real size had been taken, up to full', () => {
  fc.assert(
    fc.property(perMinute, tokens, tokens, (rate, reserved, actual) => {
      const full = refilled(null, rate, 0)
      const right = taken(full, actual)
      expect(corrected(taken(full, reserved), reserved, actual, 0)).toEqual(right)
    }),
  )
})

test.each([
  { size: 600, waitMs: 0, left: 0, fullInMs: 60_000 },
  { size: 1200, waitMs: 0, left: 0, fullInMs: 120_000 },
  { size: 150, waitMs: 0, left: 450, fullInMs: 15_000 },
])('of 600 tokens a minute, a request of $size leaves $left', ({ size, waitMs, left, fullInMs }) => {
  const full = refilled(null, 600, 0)
  expect(waitForTokens(full, size)).toBe(waitMs)
  expect(tokensLeft(taken(full, size))).toBe(left)
  expect(waitForFull(taken(full, size))).toBe(fullInMs)
})

test('a clock that steps back takes no tokens away', () => {
  const level = taken(refilled(null, 600, 10_000), 100)
  expect(tokensLeft(refilled(level, 600, 4_000))).toBe(500)
})
