import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countTokens, splitTokens } from './tokens.ts'

test('the tokens of a text joined are the text, and as many as counted', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const tokens = splitTokens(text)
      expect(tokens.join('')).toBe(text)
      expect(countTokens(text)).toBe(tokens.length)
      expect(tokens.every((token) => token.length > 0 && token.isWellFormed())).toBe(true)
    }),
  )
})

test.each([
  ['hello world', ['hello', ' world']],
  ['tokenisation', ['tokeni', 'sation']],
  ['a,  b\n', ['a', ',', ' ', ' b', '\n']],
  ['', []],
])('%j', (text, tokens) => {
  expect(splitTokens(text)).toEqual(tokens)
})
