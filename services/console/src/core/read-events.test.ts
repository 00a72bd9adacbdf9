import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEventReader } from './read-events.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

test('events come whole however the stream was cut, characters included', () => {
  const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n]/g, ' '))
  const events = fc.array(
    line.filter((text) => text !== ''),
    { maxLength: 8 },
  )
  fc.assert(
    fc.property(events, fc.constantFrom('\n', '\r\n'), fc.array(fc.nat(20), { minLength: 1 }), (texts, end, cuts) => {
      const whole = bytes(texts.map((text) => `: keep-alive${end}${end}data: ${text}${end}${end}`).join(''))
      const reader = createEventReader()
      const seen: string[] = []
      for (let at = 0, cut = 0; at < whole.length; cut++) {
        const size = (cuts[cut % cuts.length] ?? 0) + 1
        seen.push(...reader.push(whole.subarray(at, at + size)))
        at += size
      }
      expect(seen).toEqual(texts)
    }),
  )
})

test('an event of several lines is one text, and one that is not complete is none', () => {
  const reader = createEventReader()
  expect(reader.push(bytes('event: x\ndata: a\ndata:b\n\ndata: c'))).toEqual(['a\nb'])
})
