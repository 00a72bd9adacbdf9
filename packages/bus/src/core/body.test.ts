import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBody, isComplete, overduePulls, partOf, putPart, takePulls } from './body.ts'

describe('a body that is pulled in parts', () => {
  it('is whole in the end, in any order and number of its parts', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 500 }),
        fc.integer({ min: 1, max: 40 }),
        fc.infiniteStream(fc.nat()),
        (bytes, partBytes, choices) => {
          const body = createBody(bytes.length, partBytes, 4, 100)
          let requested = takePulls(body, 0)
          while (!isComplete(body)) {
            expect(body.requested.size).toBeLessThanOrEqual(4)
            const n = requested[choices.next().value! % requested.length]!
            putPart(body, n, partOf(bytes, partBytes, n)!, 0)
            requested = [...requested, ...takePulls(body, 0)]
          }
          expect(Buffer.compare(body.bytes, bytes)).toBe(0)
        },
      ),
    )
  })

  it('requests parts again that stay away, and only then', () => {
    const body = createBody(100, 10, 3, 100)
    expect(takePulls(body, 0)).toEqual([0, 1, 2])
    expect(overduePulls(body, 99)).toEqual([])
    putPart(body, 1, new Uint8Array(10), 99)
    expect(takePulls(body, 99)).toEqual([3])
    expect(overduePulls(body, 150)).toEqual([])
    expect(overduePulls(body, 199)).toEqual([0, 2, 3])
    expect(overduePulls(body, 200)).toEqual([])
  })

  it('takes no part that it did not request or that has the wrong size', () => {
    const body = createBody(25, 10, 1, 100)
    takePulls(body, 0)
    putPart(body, 2, new Uint8Array(5), 0)
    putPart(body, 0, new Uint8Array(9), 0)
    expect(body.requested).toEqual(new Set([0]))
  })

  it('has no part beyond its end', () => {
    const bytes = new Uint8Array(25)
    expect([0, 2, 3].map((n) => partOf(bytes, 10, n)?.length)).toEqual([10, 5, undefined])
  })
})
