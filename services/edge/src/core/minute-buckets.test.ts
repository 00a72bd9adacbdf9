import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMinuteBuckets, takeOne } from './minute-buckets.ts'

test('a minute of requests passes at once, and the next learns how long to wait', () => {
  const buckets = createMinuteBuckets(10)
  for (let turn = 0; turn < 60; turn++) expect(takeOne(buckets, 'one', 60, 5_000)).toBe(0)
  expect(takeOne(buckets, 'one', 60, 5_000)).toBeCloseTo(1_000)
  expect(takeOne(buckets, 'other', 60, 5_000)).toBe(0)
})

test('a sender that waits for the stated time passes, and traffic below the rate is never refused', () => {
  const arrivals = fc.record({ afterMs: fc.integer({ min: 0, max: 3_000 }), heeds: fc.boolean() })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 90 }), fc.array(arrivals, { maxLength: 200 }), (perMinute, requests) => {
      const buckets = createMinuteBuckets(10)
      const taken: number[] = []
      let nowMs = 0
      for (const { afterMs, heeds } of requests) {
        nowMs += afterMs
        let waitMs = takeOne(buckets, 'one', perMinute, nowMs)
        if (waitMs > 0 && heeds) {
          nowMs += Math.ceil(waitMs)
          waitMs = takeOne(buckets, 'one', perMinute, nowMs)
          expect(waitMs).toBe(0)
        }
        const inMinute = taken.filter((atMs) => atMs > nowMs - 60_000).length
        if (waitMs > 0) expect(inMinute).toBeGreaterThanOrEqual(perMinute - 1)
        else taken.push(nowMs)
        expect(inMinute).toBeLessThanOrEqual(2 * perMinute)
      }
    }),
  )
})

test('so many accounts are remembered', () => {
  const buckets = createMinuteBuckets(2)
  for (const account of ['one', 'two', 'three']) expect(takeOne(buckets, account, 1, 0)).toBe(0)
  expect([...buckets.fullAtMs.keys()]).toEqual(['two', 'three'])
})
