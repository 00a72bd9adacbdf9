import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keptBytes, PASSED_BYTES } from '@gateway/testing/kept-memory'
import { InFlightList, InFlightMap } from './collections.ts'

describe('a map of requests under way', () => {
  const change = fc.record({ key: fc.integer({ min: 0, max: 12 }), value: fc.option(fc.object()) })

  test('holds the entries of a Map, in its order', () => {
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const map = new InFlightMap<number, object>()
        const model = new Map<number, object>()
        for (const { key, value } of changes) {
          if (value === null) {
            map.delete(key)
            model.delete(key)
          } else {
            map.set(key, value)
            model.set(key, value)
          }
          expect(map.get(key)).toBe(model.get(key))
          expect(map.has(key)).toBe(model.has(key))
        }
        expect([...map]).toEqual([...model])
        expect([...map.values()]).toEqual([...model.values()])
        expect(map.size).toBe(model.size)
      }),
    )
  })

  test('leaves out an entry that was deleted while it was read', () => {
    const map = new InFlightMap<number, object>()
    for (const key of [1, 2, 3]) map.set(key, {})
    const seen: number[] = []
    for (const [key] of map) {
      seen.push(key)
      map.delete(2)
    }
    expect(seen).toEqual([1, 3])
  })
})

describe('a list of requests under way', () => {
  test('holds each entry that has not left, oldest first, and as often as it joined', () => {
    const list = new InFlightList<{ name: string }>()
    const [a, b] = [{ name: 'a' }, { name: 'b' }]
    const first = list.join(a)
    list.join(b)
    list.join(a)
    expect([...list]).toEqual([a, b, a])
    first.leave()
    first.leave()
    expect([...list]).toEqual([b, a])
    expect(list.size).toBe(2)
  })

  test('leaves out who left while it was read', () => {
    const list = new InFlightList<{ name: string }>()
    const places = ['a', 'b', 'c'].map((name) => list.join({ name }))
    const seen: string[] = []
    for (const { name } of list) {
      seen.push(name)
      places[1]!.leave()
    }
    expect(seen).toEqual(['a', 'c'])
  })
})

describe('a small collection frees the entries that have left', () => {
  test.each([
    ['from a map', () => mapped(new InFlightMap<number, object>())],
    ['from a list', listed],
  ])('%s', (_from, opened) => {
    expect(keptBytes(opened())).toBeLessThan(PASSED_BYTES / 10)
  })

  test('but not from a Map, which is why these exist: should this fail, they may go', () => {
    expect(keptBytes(mapped(new Map<number, object>()))).toBeGreaterThan(PASSED_BYTES / 4)
  })

  function mapped(map: Pick<InFlightMap<number, object>, 'set'> & { delete(key: number): unknown }) {
    let last = 0
    return (words: number[]) => {
      const number = ++last
      map.set(number, { words })
      return () => void map.delete(number)
    }
  }

  function listed() {
    const list = new InFlightList()
    return (words: number[]) => {
      const place = list.join({ words })
      return () => place.leave()
    }
  }
})
