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

test('words that mean alike share cells, words that do not share none', () => {
  expect(shared('poets', 'poems')).toBeGreaterThan(0)
  expect(shared('poets', 'thermostat')).toBe(0)
})

test('a pair of words shares more with a pair that means alike than with the same words turned round', () => {
  expect(shared('cold eggs', 'winter bread')).toBeGreaterThan(shared('cold eggs', 'bread winter'))
})

test('the first word of a sentence has a cell that the same word has nowhere else', () => {
  expect(shared('translate', 'please translate')).toBeLessThan(sensesOf('translate').size)
})

test('a word outside the vocabulary only tells that it stands there', () => {
  expect(sensesOf('xqzzt')).toEqual(sensesOf('qqxwv'))
})

test('words that say something make a pair in either order, whatever small words stand between', () => {
  const pairs = sensesOf('write a poem').intersection(sensesOf('poem write'))
  const alone = sensesOf('write').union(sensesOf('poem'))
  expect(pairs.difference(alone).size).toBe(1)
})
