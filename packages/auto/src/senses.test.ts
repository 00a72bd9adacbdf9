import { expect, test } from 'vitest'
import { CellList } from './cell-list.ts'
import { addSenses, startSentence } from './senses.ts'
import { PLACE_OF } from './vocabulary.ts'

function sensesOf(sentence: string): Set<number> {
  const list = new CellList(65_536)
  list.start()
  const before = startSentence()
  for (const word of sentence.split(' ')) addSenses(PLACE_OF.get(word), before, list)
  return new Set(list.cells)
}

function shared(one: string, other: string): number {
  return sensesOf(one).intersection(sensesOf(other)).size
}

test('words of like meaning share buckets, and other words share none', () => {
  expect(shared('poets', 'poems')).toBeGreaterThan(0)
  expect(shared('poets', 'thermostat')).toBe(0)
})

test('a pair of words shares more with a pair of like meaning than with that pair reversed', () => {
  expect(shared('cold eggs', 'winter bread')).toBeGreaterThan(shared('cold eggs', 'bread winter'))
})

test('the first word of a sentence has a bucket that the same word has nowhere else', () => {
  expect(shared('translate', 'please translate')).toBeLessThan(sensesOf('translate').size)
})

test('all words outside the vocabulary share one bucket', () => {
  expect(sensesOf('xqzzt')).toEqual(sensesOf('qqxwv'))
})

test('content words make a pair in either order, also with function words between them', () => {
  const pairs = sensesOf('write a poem').intersection(sensesOf('poem write'))
  const alone = sensesOf('write').union(sensesOf('poem'))
  expect(pairs.difference(alone).size).toBe(1)
})
