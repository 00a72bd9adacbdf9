import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shareAmong, shareOfLimit, COMPLETE, type Received } from './share-limit.ts'

const counts = fc.record({
  limit: fc.integer({ min: 1, max: 100 }),
  of: fc.integer({ min: 1, max: 64 }),
  backend: fc.string(),
  gone: fc.integer({ min: 0, max: 120 }),
})

test('all routers together use the whole limit and never more, however few slots there are', () => {
  fc.assert(
    fc.property(counts, ({ limit, of, backend, gone }) => {
      const held = { [backend]: gone }
      const shares = Array.from({ length: of }, (_, index) => shareOfLimit(limit, backend, { index, of, held }))
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(Math.max(0, limit - gone))
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
    }),
  )
})

test('the slots of small backends are spread over the routers', () => {
  const backends = Array.from({ length: 100 }, (_, number) => `gpu-${number}`)
  const slots = [0, 1, 2, 3].map((index) =>
    backends.reduce((sum, backend) => sum + shareOfLimit(1, backend, { index, of: 4, held: {} }), 0),
  )
  expect(slots.reduce((sum, share) => sum + share)).toBe(100)
  expect(Math.min(...slots)).toBeGreaterThan(10)
})

test('every router comes to a place of its own among the live ones, and keeps off the slots of leaving ones', () => {
  const received = new Map<string, Received>([
    ['a', { atMs: 100 }],
    ['b', { atMs: 100 }],
    ['c', { atMs: 100 }],
    ['gone', { atMs: 10, leaving: { gpu: 9 } }],
    ['leaving', { atMs: 100, leaving: { gpu: 2 } }],
    ['leaving too', { atMs: 100, leaving: { gpu: 1, tpu: 4 } }],
  ])
  const held = { gpu: 3, tpu: 4 }
  expect(['a', 'b', 'c'].map((self) => shareAmong(self, received, 50))).toEqual([
    { index: 0, of: 3, held },
    { index: 1, of: 3, held },
    { index: 2, of: 3, held },
  ])
})

test('a router alone has everything', () => {
  expect(shareAmong('a', new Map(), 0)).toEqual(COMPLETE)
  expect(shareOfLimit(7, 'gpu', COMPLETE)).toBe(7)
})
