import fc from 'fast-check'
import { expect, test } from 'vitest'
import { completeEvents, findEvents } from './complete-events.ts'

/** The text to pass on for each piece, and in the end. */
function passOn(pieces: string[]): string[] {
  const events = completeEvents()
  const passed = pieces.map((piece) => Buffer.from(events.push(Buffer.from(piece))).toString())
  return [...passed, Buffer.from(events.end()).toString()]
}

test.each([
  { cut: ['data: 1\n\n'], passed: ['data: 1\n\n', ''] },
  { cut: ['data: 1\n\ndata: 2', '\n\n'], passed: ['data: 1\n\n', 'data: 2\n\n', ''] },
  { cut: ['data: 1\n', '\ndata: 2\n\n'], passed: ['', 'data: 1\n\ndata: 2\n\n', ''] },
  { cut: ['da', 'ta:', ' 1\n\n'], passed: ['', '', 'data: 1\n\n', ''] },
  { cut: ['data: 1\r\n\r\ndata', ': 2\r\n\r\n'], passed: ['data: 1\r\n\r\n', 'data: 2\r\n\r\n', ''] },
  { cut: ['data: 1\r\n\r', '\ndata: 2\r\r'], passed: ['data: 1\r\n\r', '\ndata: 2\r\r', ''] },
  { cut: ['data: 1\r', '\n\r\n'], passed: ['', 'data: 1\r\n\r\n', ''] },
  { cut: ['event: a\ndata: 1\n', '\n'], passed: ['', 'event: a\ndata: 1\n\n', ''] },
  { cut: ['data: 1\n\n', 'data: un'], passed: ['data: 1\n\n', '', 'data: un'] },
  { cut: ['data: 1\n', 'data: 2\n', '\nda', 'ta: 3\n\n'], passed: ['', '', 'data: 1\ndata: 2\n\n', 'data: 3\n\n', ''] },
  { cut: ['', '\n\n'], passed: ['', '\n\n', ''] },
])('$cut is passed on as $passed', ({ cut, passed }) => {
  expect(passOn(cut)).toEqual(passed)
})

test('nothing is lost or moved, and all but the end are complete events, however a stream is cut', () => {
  const line = fc.stringMatching(/^[a-z:{}" ]{1,12}$/)
  const lines = fc.array(fc.array(line, { minLength: 1, maxLength: 3 }))
  const stream = fc
    .tuple(fc.constantFrom('\n', '\r\n', '\r'), lines, fc.stringMatching(/^[a-z]{0,5}$/))
    .map(([end, events, rest]) => events.map((event) => [...event, ''].join(end) + end).join('') + rest)
  const cuts = fc.array(fc.nat({ max: 200 }))
  fc.assert(
    fc.property(stream, cuts, (text, places) => {
      const at = [0, ...places.filter((place) => place < text.length), text.length].toSorted((a, b) => a - b)
      const passed = passOn(at.slice(1).map((place, index) => text.slice(at[index], place)))
      expect(passed.join('')).toBe(text)
      for (let n = 1; n < passed.length; n++) {
        const sofar = passed.slice(0, n).join('')
        expect(sofar === '' || /(\n\n|\r\n\r\n?|\r\r)$/.test(sofar)).toBe(true)
        // Nothing that could pass waits.
        const waiting = text.slice(sofar.length, at[n])
        expect(waiting).not.toMatch(/\n\n|\r\n\r\n|\r\r/)
      }
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  ['', 0, 0],
  ['data: {"a":1}\n\n', 1, 0],
  ['data: 1\n\ndata: 2\n\n', 2, 9],
  ['data: 1\r\n\r\ndata: 2\r\n\r\n', 2, 11],
  ['event: x\ndata: 1\n\n', 1, 0],
  ['data: 1\n', 0, 0],
])('%j ends %i events, the last of which begins at %i', (text, count, lastAt) => {
  expect(findEvents(Buffer.from(text))).toEqual({ count, lastAt })
})
