import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ExactNumber, isObject, parseExactly, plainNumber } from './json.ts'

const again = (text: string) => JSON.stringify(parseExactly(text))

const digits = fc.stringMatching(/^\d{1,40}$/)
const numberText = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.bigInt({ min: -(2n ** 130n), max: 2n ** 130n }).map(String),
  fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.constantFrom('0', '1', '90'),
      digits,
      fc.constantFrom('', 'e7', 'E-30', 'e+400'),
    )
    .map(([sign, integer, fraction, exponent]) => `${sign}${integer}.${fraction}${exponent}`),
  fc.constantFrom('-0', '1e400', '1.0', '0.000001', '0.0000001', '123456789012345', '9007199254740993'),
)
const stringText = fc
  .string({ unit: fc.constantFrom('1', '.', 'e', '0', '"', '\\', '-') })
  .map((text) => JSON.stringify(text))

test('every number is written in the text in which it came, beside any strings', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(numberText, stringText)), (parts) => {
      const text = `[${parts.join(',')}]`
      expect(again(text)).toBe(text)
      expect((parseExactly(text) as unknown[]).map(plainNumber)).toEqual(JSON.parse(text))
    }),
    { numRuns: 1_000 },
  )
})

test('a number that is written as it is read is a number', () => {
  const text =
    '{"a":0.1,"b":9007199254740991,"c":"9007199254740993.10","d":[true,null,-0.5],"e":1e+21,"__proto__":{"f":1}}'
  expect(parseExactly(text)).toEqual(JSON.parse(text))
  expect(parseExactly('[1.0]')).toEqual([new ExactNumber('1.0')])
  expect(isObject(parseExactly('1.0'))).toBe(false)
  expect(() => parseExactly('{"a": 9007199254740993')).toThrow(SyntaxError)
})

test('an endless number holds up nobody', () => {
  const { user: before } = process.threadCpuUsage()
  for (const text of [`[${'9'.repeat(1_000_000)}]`, `[0.${'0'.repeat(1_000_000)}1]`]) expect(again(text)).toBe(text)
  const escaped = JSON.stringify(['\\"'.repeat(1_000_000)])
  expect(again(escaped)).toBe(escaped)
  expect((process.threadCpuUsage().user - before) / 1_000).toBeLessThan(2_000)
})

/** Of names: those of a text that a parser has met before, and letters that end an escape. */
const nameUnit = fc.constantFrom('\\', '"', '\n', 'n', 'u', '0', 'a', 'é', ':', ' ')
const name = fc.string({ unit: nameUnit, maxLength: 3 })
const named = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(0, null, '\\"', 'é\n'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
})).value

/** As most clients of Python write it. */
const inAscii = (text: string) =>
  text.replaceAll(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

test('every name is read as it was written, after any other text', () => {
  fc.assert(
    fc.property(named, named, (before, value) => {
      JSON.parse(JSON.stringify(before))
      const text = JSON.stringify(value)
      expect(again(text)).toBe(text)
      expect(again(inAscii(text))).toBe(text)
      expect(again(JSON.stringify([value, 1.5, { a: '1.0' }], null, 1))).toBe(
        JSON.stringify([value, 1.5, { a: '1.0' }]),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('names that V8 has once taken for others keep their order, their own kind and the last of two values', () => {
  JSON.parse(String.raw`{"p":1,"q\\":0}`)
  expect(again(String.raw`{"p":1,"q\"":0}`)).toBe(String.raw`{"p":1,"q\"":0}`)
  expect(again(String.raw`{"p":1,"q\n":1.0,"\u0070":2}`)).toBe(String.raw`{"p":2,"q\n":1.0}`)
  expect(Object.keys(parseExactly(String.raw`{"\u005f_proto__":{"a":1}}`) as object)).toEqual(['__proto__'])
  for (const broken of [String.raw`{"\q":1}`, String.raw`{"a\n" 1}`, String.raw`["a\n":1]`, String.raw`{"a\n":`])
    expect(() => parseExactly(broken)).toThrow(SyntaxError)
})
