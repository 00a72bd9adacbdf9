import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packText, unpackText } from './packed-text.ts'

/** As vendors write them, and as nobody should. */
const base64 = fc
  .tuple(fc.uint8Array({ maxLength: 300 }), fc.constantFrom('base64', 'base64url'), fc.constantFrom('', '=', '==', '"'))
  .map(([bytes, encoding, end]) => Buffer.from(bytes).toString(encoding as BufferEncoding) + end)
const piece = fc.oneof(base64, fc.string({ unit: 'binary' }), fc.constantFrom('"', '\\"', '=', '\uD800', '\u0000'))

test('every text that can be written as UTF-8 returns letter for letter', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.boolean(), (pieces, isJson) => {
      const text = (isJson ? JSON.stringify(pieces) : pieces.join('')).toWellFormed()
      expect(unpackText(packText(text))).toBe(text)
    }),
  )
})

test.each([
  ["Claude's and Google's, with its padding", 'base64', 900],
  ["OpenAI's, of the letters of addresses", 'base64url', 900],
  ['one whose end is padded', 'base64', 901],
] as const)('a signature takes the bytes that it stands for: %s', (_name, encoding, length) => {
  const written = randomBytes(length).toString(encoding)
  const padded = written.padEnd(Math.ceil(written.length / 4) * 4, '=')
  for (const signature of [written, padded]) {
    const text = JSON.stringify({ signature })
    expect(packText(text).length).toBeLessThan(length + 40)
    expect(unpackText(packText(text))).toBe(text)
  }
})
