import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BucketSet } from './bucket-set.ts'

test('text after text, the set holds the same buckets as a `Set` of the remainders', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.array(fc.array(fc.nat())), (size, texts) => {
      const set = new BucketSet(size)
      for (const hashes of texts) {
        set.start()
        for (const hash of hashes) set.add(hash)
        expect(set.buckets).toEqual([...new Set(hashes.map((hash) => hash % size))])
      }
    }),
  )
})

test('the buckets of a text stay as they were when the next text starts', () => {
  const set = new BucketSet(10)
  set.start()
  set.add(3)
  const { buckets } = set
  set.start()
  set.add(4)
  expect(buckets).toEqual([3])
})
