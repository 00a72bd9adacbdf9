import { parseExactly } from '@gateway/contracts/json'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memberNames } from './strip-parameters.ts'

test('are those of the object, for all values of its members and however it is spaced', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, 2), (object, spaces) => {
      const text = ` ${JSON.stringify(object, null, spaces)}\n`
      expect(memberNames(Buffer.from(text))).toEqual(Object.keys(parseExactly(text) as object))
    }),
  )
})

test.each(['\\', '"', '\\"', 'a\\\\"b', '","x":"', '{[', '🙂'])('are found beside a text of %s', (text) => {
  expect(memberNames(Buffer.from(JSON.stringify({ [text]: text, a: [text, { b: text }], c: 1 })))).toEqual([
    text,
    'a',
    'c',
  ])
})
