import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CellList } from './cell-list.ts'

test('text after text, the set holds the same buckets as a `Set` of the remainders', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.array(fc.array(fc.nat())), (size, texts) => {
      const list = new CellList(size)
      for (const hashes of texts) {
        list.start()
        for (const hash of hashes) list.add(hash)
        expect(list.cells).toEqual([...new Set(hashes.map((hash) => hash % size))])
      }
    }),
  )
})

test('the buckets of a text stay as they were when the next text starts', () => {
  const list = new CellList(10)
  list.start()
  list.add(3)
  const { cells } = list
  list.start()
  list.add(4)
  expect(cells).toEqual([3])
})
