import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readDecimalNumber, readInteger } from './plain-number.ts'

const digits = fc.stringMatching(/^[0-9]{1,12}$/)

test('digits are the whole number that they spell', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), digits, (number, zeros) => {
      expect(readInteger(String(number))).toBe(number)
      expect(readInteger(zeros.replaceAll(/./g, '0') + number)).toBe(number)
    }),
  )
})

test('digits with a point are the decimal number that they spell', () => {
  fc.assert(
    fc.property(digits, digits, (integer, fraction) => {
      expect(readDecimalNumber(integer)).toBe(Number.parseInt(integer, 10))
      expect(readDecimalNumber(`${integer}.${fraction}`)).toBe(Number.parseFloat(`${integer}.${fraction}`))
    }),
  )
})

/** Texts of the characters that JavaScript's own reader knows in numbers, which find its other forms. */
const numberLike = fc.string({ unit: fc.constantFrom(...Array.from('0123456789abefoxBEOX.+-_, \t\n٣½')) })

test('any other text is no number', () => {
  fc.assert(
    fc.property(fc.oneof(numberLike, fc.string()), (text) => {
      const characters = Array.from(text)
      const points = characters.filter((character) => character === '.').length
      const isPlain = (allowed: string) => characters.length > 0 && characters.every((one) => allowed.includes(one))
      if (!isPlain('0123456789')) expect(readInteger(text)).toBeNull()
      if (!isPlain('0123456789.') || points > 1) expect(readDecimalNumber(text)).toBeNull()
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  '',
  ' ',
  '0x10',
  '0b1',
  '0o7',
  '1e3',
  '1E3',
  '+1',
  '-1',
  ' 1',
  '1\n',
  '1_000',
  '1,000',
  '.5',
  '5.',
  '1.2.3',
])('%j is neither', (text) => {
  expect(readInteger(text)).toBeNull()
  expect(readDecimalNumber(text)).toBeNull()
})

test('a number that would lose digits or be infinite is refused', () => {
  expect(readInteger('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER)
  expect(readInteger('9007199254740993')).toBeNull()
  expect(readDecimalNumber('9'.repeat(400))).toBeNull()
})
