import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OpenObject } from './open-object.ts'

test('an object is whole with its last brace, however it is cut into pieces', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.nat(200)), (value, cuts) => {
      const text = JSON.stringify(value)
      const open = new OpenObject()
      let at = 0
      for (const end of [...cuts.toSorted((a, b) => a - b), text.length]) {
        const piece = text.slice(at, Math.max(at, end))
        at += piece.length
        open.add(piece)
        expect(open.isComplete(text.slice(0, at))).toBe(at === text.length)
      }
    }),
  )
})

test('braces in texts close nothing, and a text that is no JSON is never whole', () => {
  const ofTexts = new OpenObject()
  ofTexts.add('{"a":"}\\"}')
  expect(ofTexts.isComplete('{"a":"}\\"}')).toBe(false)
  const broken = new OpenObject()
  broken.add('{a}')
  expect(broken.isComplete('{a}')).toBe(false)
})
