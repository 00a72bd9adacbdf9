import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CELLS, follow, MEANING_AT, readFeatures } from './features.ts'
import { LANES } from './lanes.ts'

const LAST = 'two of us'
const BEFORE = new Float64Array(LANES.length).fill(1 / LANES.length)

function cellsAfter(reply: string): number[] {
  const turns = { last: LAST, before: 'We need a room.', reply, lastLength: LAST.length }
  return follow(readFeatures(LAST, LAST.length), turns, BEFORE).words
}

test('a later message is read with the last sentence of the response before it', () => {
  const alone = readFeatures(LAST, LAST.length).words
  expect(cellsAfter('')).toEqual(alone)
  expect(cellsAfter('For how many?').length).toBe(alone.length + 'For how many'.split(' ').length)
  expect(cellsAfter('Gladly. For how many?')).toEqual(cellsAfter('For how many?'))
  expect(cellsAfter('For how many?')).not.toEqual(cellsAfter('Who are they?'))
})

test('the words of a response are not mistaken for the user’s own', () => {
  const own = new Set(readFeatures('For how many?', 13).words)
  const added = cellsAfter('For how many?').slice(cellsAfter('').length)
  expect(added.filter((cell) => own.has(cell))).toEqual([])
})

test('every response has valid buckets, and a long one adds no more than its end does', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (reply) => {
      const cells = cellsAfter(reply)
      expect(cells.every((cell) => Number.isInteger(cell) && cell >= 0 && cell < CELLS)).toBe(true)
      expect(cellsAfter('x'.repeat(10_000) + reply.slice(-160))).toEqual(
        cellsAfter(reply.slice(-160).padStart(160, 'x')),
      )
    }),
  )
})

test('a request in another language has the word clusters and the embedding of its English translation', () => {
  const read = (text: string) => readFeatures(text, text.length)
  const english = read('write a poem')
  const german = read('Gedicht schreiben')
  expect(new Set(english.senses).intersection(new Set(german.senses)).size).toBeGreaterThanOrEqual(5)
  const likeness = (other: string): number =>
    read(other)
      .dense.subarray(MEANING_AT)
      .reduce((sum, value, axis) => sum + value * german.dense[MEANING_AT + axis]!, 0)
  expect(likeness('write a poem')).toBeGreaterThan(likeness('weather in Berlin'))
})
