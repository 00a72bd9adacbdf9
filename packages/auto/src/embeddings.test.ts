import { expect, test } from 'vitest'
import { foldText } from './fold-text.ts'
import { EMBEDDING_DIMENSIONS, EMBEDDING_ZONES, sumOfSpan, sumOfWords, writeEmbeddings } from './embeddings.ts'
import { sentences } from './split-text.ts'
import { WORD_IDS } from './vocabulary.ts'

function meant(raw: string): Float32Array {
  const text = foldText(raw)
  const into = new Float32Array(EMBEDDING_ZONES.length * EMBEDDING_DIMENSIONS + 2)
  const spans = sentences(text)
  writeEmbeddings(
    spans.map((span) => sumOfSpan(text, span)),
    into,
    1,
  )
  return into
}

function likeness(one: string, other: string): number {
  const [a, b] = [meant(one), meant(other)]
  return (
    a.reduce((sum, value, dimension) => sum + value * (b[dimension] ?? 0), 0) / (Math.hypot(...a) * Math.hypot(...b))
  )
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
  expect(Math.hypot(...values)).toBeCloseTo(4 * Math.sqrt(EMBEDDING_ZONES.length), 3)
})

test('a text of known words has the embedding of their ids', () => {
  const wordIds = ['sailing', 'boat'].map((word) => WORD_IDS.get(word) ?? -1)
  expect(sumOfWords(wordIds)).toEqual(sumOfSpan('sailing boat', { start: 0, end: 12 }))
})
