import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shareAmong, shareOfLimit } from './share-limit.ts'

test('all routers together use the whole limit and never more', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 0, max: 1_000 }), (of, more) => {
      const limit = of + more
      const shares = Array.from({ length: of }, (_, index) => shareOfLimit(limit, { index, of }))
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(limit)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
    }),
  )
})

test('a router is never left without a place', () => {
  expect(shareOfLimit(1, { index: 4, of: 5 })).toBe(1)
})

test('every router comes to a place of its own among the live ones', () => {
  const heard = new Map([
    ['a', 100],
    ['b', 100],
    ['c', 100],
    ['gone', 10],
  ])
  const shares = ['a', 'b', 'c'].map((self) => shareAmong(self, heard, 50))
  expect(shares).toEqual([
    { index: 0, of: 3 },
    { index: 1, of: 3 },
    { index: 2, of: 3 },
  ])
})

test('a router alone has everything', () => {
  expect(shareAmong('a', new Map(), 0)).toEqual({ index: 0, of: 1 })
})
