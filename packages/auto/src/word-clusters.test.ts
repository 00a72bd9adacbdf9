import { expect, test } from 'vitest'
import { BucketSet } from './bucket-set.ts'
import { addClusters, startSentence } from './word-clusters.ts'
import { WORD_IDS } from './vocabulary.ts'

function clustersOf(sentence: string): Set<number> {
  const set = new BucketSet(65_536)
  set.start()
  const before = startSentence()
  for (const word of sentence.split(' ')) addClusters(WORD_IDS.get(word), before, set)
  return new Set(set.buckets)
}

function shared(one: string, other: string): number {
  return clustersOf(one).intersection(clustersOf(other)).size
}

test('words of like meaning share buckets, and other words share none', () => {
  expect(shared('poets', 'poems')).toBeGreaterThan(0)
  expect(shared('poets', 'thermostat')).toBe(0)
})

test('a pair of words shares more with a pair of like meaning than with that pair reversed', () => {
  expect(shared('cold eggs', 'winter bread')).toBeGreaterThan(shared('cold eggs', 'bread winter'))
})

test('the first word of a sentence has a bucket that the same word has nowhere else', () => {
  expect(shared('translate', 'please translate')).toBeLessThan(clustersOf('translate').size)
})

test('all words outside the vocabulary share one bucket', () => {
  expect(clustersOf('xqzzt')).toEqual(clustersOf('qqxwv'))
})

test('content words make a pair in either order, also with function words between them', () => {
  const pairs = clustersOf('write a poem').intersection(clustersOf('poem write'))
  const alone = clustersOf('write').union(clustersOf('poem'))
  expect(pairs.difference(alone).size).toBe(1)
})
