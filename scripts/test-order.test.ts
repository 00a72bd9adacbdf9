import { existsSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cost, costs, inOrder } from './test-order.ts'

const orderOf = (files: Record<string, Cost>, workers: number) =>
  inOrder(Object.keys(files), (name) => files[name]!, { workers, cores: 2 }).join(' ')

test('every file whose cost is known is there', () => {
  const root = join(import.meta.dirname, '..')
  expect(Object.keys(costs).filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('the longest begin first, and a file that waits beside files that compute', () => {
  const files = {
    brief: { seconds: 1, cores: 1 },
    busy: { seconds: 20, cores: 1 },
    long: { seconds: 30, cores: 1 },
    middling: { seconds: 10, cores: 1 },
    waits: { seconds: 5, cores: 0 },
  }
  expect(orderOf(files, 3)).toBe('long busy waits middling brief')
  expect(orderOf(files, 1)).toBe('long busy middling waits brief')
})

test('every file begins once, whatever it costs and however many run at once', () => {
  const anyCost = fc.record({ seconds: fc.nat(200), cores: fc.double({ min: 0, max: 3, noNaN: true }) })
  fc.assert(
    fc.property(fc.array(anyCost), fc.integer({ min: 1, max: 8 }), (files, workers) => {
      const order = inOrder(files, (file) => file, { workers, cores: 2 })
      expect(new Set(order)).toEqual(new Set(files))
      expect(order).toHaveLength(files.length)
    }),
  )
})
