import { parseExactly } from '@gateway/contracts/json'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { elementSpans, memberSpans, type Span } from './json-spans.ts'

const space = fc.constantFrom('', ' ', '\n', '\t ', '\r\n')

/** A value as JSON with spaces wherever they may stand. */
const { written } = fc.letrec<{ written: string; list: string; object: string }>((tie) => ({
  written: fc.oneof(
    { depthSize: 'small' },
    fc.jsonValue({ maxDepth: 0 }).map((value) => JSON.stringify(value)),
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.constantFrom('"a\\"b"', '"\\\\"', '"]},{["', '1.50', '-0', '1e400', '""'),
    tie('list'),
    tie('object'),
  ),
  list: fc
    .array(fc.tuple(space, tie('written'), space), { maxLength: 4 })
    .map((elements) => `[${elements.map((parts) => parts.join('')).join(',')}]`),
  object: fc
    .array(fc.tuple(space, fc.string(), space, space, tie('written'), space), { maxLength: 4 })
    .map(
      (members) =>
        `{${members.map(([a, name, b, c, value, d]) => `${a}${JSON.stringify(name)}${b}:${c}${value}${d}`).join(',')}}`,
    ),
}))

const object = fc.array(fc.tuple(fc.string(), written), { maxLength: 6 }).map((members) => ({
  members,
  text: ` {${members.map(([name, value]) => `${JSON.stringify(name)} : ${value} `).join(',')}}\n`,
}))

function textAt(bytes: Buffer, { start, end }: Span): string {
  return bytes.toString('utf8', start, end)
}

test("each member's value is found as it stands in the text, the last of equal names", () => {
  fc.assert(
    fc.property(object, ({ members, text }) => {
      const bytes = Buffer.from(text)
      const spans = memberSpans(bytes)
      const found = [...spans!].map(([name, span]) => [name, textAt(bytes, span)])
      expect(Object.fromEntries(found)).toEqual(Object.fromEntries(members))
    }),
  )
})

test('each element of a list is found as it stands in the text', () => {
  fc.assert(
    fc.property(fc.array(written), (elements) => {
      const bytes = Buffer.from(`[ ${elements.join(' ,\n')} ]`)
      expect(elementSpans(bytes)!.map((span) => textAt(bytes, span))).toEqual(elements)
    }),
  )
})

test('within another text, nothing outside of the value is read', () => {
  fc.assert(
    fc.property(object, fc.string(), ({ text }, around) => {
      const before = Buffer.from(around)
      const bytes = Buffer.concat([before, Buffer.from(text), Buffer.from('"}],')])
      const within = { start: before.length, end: before.length + Buffer.byteLength(text) }
      const own = memberSpans(Buffer.from(text))!
      expect([...memberSpans(bytes, within)!.keys()]).toEqual([...own.keys()])
    }),
  )
})

test.each([
  '',
  '{',
  '}',
  '{"a"',
  '{"a":}',
  '{"a":1,}',
  '{"a" 1}',
  '{a:1}',
  '[1]',
  '1',
  '{"a":[}',
  '{"a":"b',
  '{"a":1}}',
  '{,}',
])('%j has no members', (text) => {
  expect(memberSpans(Buffer.from(text))).toBeNull()
})

test('any bytes are read without an error, and a text that is an object has members', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.string().map((text) => `{${text}}`),
      ),
      (text) => {
        const spans = memberSpans(Buffer.from(text))
        let value: unknown
        try {
          value = parseExactly(text)
        } catch {
          return
        }
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
        expect(spans !== null).toBe(isObject)
        if (isObject) expect(new Set(spans!.keys())).toEqual(new Set(Object.keys(value as object)))
      },
    ),
    { numRuns: 1_000 },
  )
})
