import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyBytes, parseJson, SMALL_BODY_BYTES } from './parse-json.ts'

const size = fc.oneof(
  fc.nat(9),
  fc.constantFrom(SMALL_BODY_BYTES - 1, SMALL_BODY_BYTES, SMALL_BODY_BYTES + 1),
  fc.nat(99_999),
)

test('a body is the same however it is cut into pieces, and a large one is copied as it comes', () => {
  fc.assert(
    fc.property(fc.array(size, { maxLength: 6 }), fc.boolean(), (sizes, isAnnounced) => {
      const length = sizes.reduce((sum, size) => sum + size, 0)
      const sent = Buffer.from(Array.from({ length }, (_, at) => at % 251))
      const body = new BodyBytes(isAnnounced ? length : null)
      let at = 0
      for (const size of sizes) {
        const piece = Buffer.from(sent.subarray(at, at + size))
        body.add(piece)
        at += size
        if (isAnnounced && at > SMALL_BODY_BYTES) piece.fill(0)
      }
      expect(body.length).toBe(length)
      expect(Buffer.compare(body.own(), sent)).toBe(0)
      expect(Buffer.compare(body.bytes, sent)).toBe(0)
      expect(body.own().buffer.byteLength).toBe(length)
    }),
    { numRuns: 60 },
  )
})

test.each(['1', '1.0', '9482308959737782.0', '1e400', '"text"', 'true', 'null'])('%s is no body', (text) => {
  expect(() => parseJson(Buffer.from(text))).toThrow('body: is not valid JSON')
})
