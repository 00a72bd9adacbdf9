import { expect, test } from 'vitest'
import { foldText } from './fold-text.ts'
import { MEANING_AXES, MEANING_ZONES, meaningOf, meaningOfPlaces, writeMeaning } from './meaning.ts'
import { sentences } from './split-text.ts'
import { PLACE_OF } from './vocabulary.ts'

function meant(raw: string): Float32Array {
  const text = foldText(raw)
  const into = new Float32Array(MEANING_ZONES.length * MEANING_AXES + 2)
  const spans = sentences(text)
  writeMeaning(
    spans.map((span) => meaningOf(text, span)),
    into,
    1,
  )
  return into
}

function likeness(one: string, other: string): number {
  const [a, b] = [meant(one), meant(other)]
  return a.reduce((sum, value, axis) => sum + value * (b[axis] ?? 0), 0) / (Math.hypot(...a) * Math.hypot(...b))
}

test('texts that share a subject and no word are more alike than texts that share words and no subject', () => {
  const query = 'cheap airline tickets'
  expect(likeness(query, 'inexpensive flight fares')).toBeGreaterThan(likeness(query, 'cheap cake recipe'))
})

test('a word outside the vocabulary counts by its pieces', () => {
  const text = 'the best of all dishwashers'
  expect(likeness(text, 'kitchen appliances')).toBeGreaterThan(likeness('the best of all', 'kitchen appliances'))
})

test('a text in another language has no embedding before it is translated', () => {
  for (const text of [
    'Wie hoch ist der Kölner Dom?',
    '北京今天天气怎么样',
    'Почему небо синее?',
    '하늘은 왜 파란가요',
    '',
    '!?',
  ])
    expect(meant(text).every((value) => value === 0)).toBe(true)
})

test('only the given range of the features is written', () => {
  const values = meant('a sailing boat on a lake')
  expect([values[0], values.at(-1)]).toEqual([0, 0])
  expect(Math.hypot(...values)).toBeCloseTo(4 * Math.sqrt(MEANING_ZONES.length), 3)
})

test('a text of known words has the embedding of their ids', () => {
  const places = ['sailing', 'boat'].map((word) => PLACE_OF.get(word) ?? -1)
  expect(meaningOfPlaces(places)).toEqual(meaningOf('sailing boat', { start: 0, end: 12 }))
})
