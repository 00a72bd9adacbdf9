import { expect, test } from 'vitest'
import { parseExactly } from './json.ts'

const again = (text: string) => JSON.stringify(parseExactly(text))

test('integers of up to 128 bits keep their digits', () => {
  const text =
    '{"a":[9007199254740993,-9223372036854775808,18446744073709551615,340282366920938463463374607431768211455],"b":{"c":9007199254740991}}'
  expect(again(text)).toBe(text)
  expect(parseExactly('[9007199254740991]')).toEqual([9007199254740991])
})

test('longer integers hold up nobody: they stay numbers', () => {
  const digits = '9'.repeat(300)
  expect(parseExactly(`[${digits}]`)).toEqual([Number(digits)])
  expect(again(`[${'9'.repeat(1_000_000)}]`)).toBe('[null]')
})

test('everything else is as JSON.parse reads it', () => {
  const text =
    '{"a": 0.12345678901234567, "b": 1e22, "c": "9007199254740993", "d": [true, null, -0.5], "e": 9007199254740993.5, "__proto__": {"f": 1}, "g": 12345678901234567e3}'
  expect(parseExactly(text)).toEqual(JSON.parse(text))
  expect(again(text)).toBe(JSON.stringify(JSON.parse(text)))
  expect(() => parseExactly('{"a": 9007199254740993')).toThrow(SyntaxError)
})
