import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addText, KEPT_CHARACTERS, noText, scaleToWhole } from './dialect.ts'

test('an usual answer is kept whole, and counted as it is', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.nat(), (pieces, tokens) => {
      const text = noText()
      for (const piece of pieces) addText(text, piece)
      expect(text).toEqual({ kept: pieces.join(''), length: pieces.join('').length })
      expect(scaleToWhole(text, tokens)).toBe(tokens)
    }),
  )
})

test('of an endless one only the beginning is kept, and the rest is counted by its length', () => {
  const text = noText()
  for (let piece = 0; piece < 1_000; piece++) addText(text, 'word '.repeat(1_000))
  expect(text.kept.length).toBe(KEPT_CHARACTERS)
  expect(text.length).toBe(5_000_000)
  expect(scaleToWhole(text, KEPT_CHARACTERS / 5)).toBe(1_000_000)
})
