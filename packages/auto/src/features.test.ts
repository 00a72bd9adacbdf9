import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BUCKETS, withContext, EMBEDDINGS_AT, readFeatures } from './features.ts'
import { LANES } from './lanes.ts'

const LAST = 'two of us'
const BEFORE = new Float64Array(LANES.length).fill(1 / LANES.length)

function bucketsAfter(reply: string): number[] {
  const turns = { last: LAST, before: 'We need a room.', reply, lastLength: LAST.length }
  return withContext(readFeatures(LAST, LAST.length), turns, BEFORE).words
}

test('a later message is read with the last sentence of the response before it', () => {
  const alone = readFeatures(LAST, LAST.length).words
  expect(bucketsAfter('')).toEqual(alone)
  expect(bucketsAfter('For how many?').length).toBe(alone.length + 'For how many'.split(' ').length)
  expect(bucketsAfter('Gladly. For how many?')).toEqual(bucketsAfter('For how many?'))
  expect(bucketsAfter('For how many?')).not.toEqual(bucketsAfter('Who are they?'))
})

test('the words of a response are not mistaken for the user’s own', () => {
  const own = new Set(readFeatures('For how many?', 13).words)
  const added = bucketsAfter('For how many?').slice(bucketsAfter('').length)
  expect(added.filter((bucket) => own.has(bucket))).toEqual([])
})

test('every response has valid buckets, and a long one adds no more than its end does', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (reply) => {
      const buckets = bucketsAfter(reply)
      expect(buckets.every((bucket) => Number.isInteger(bucket) && bucket >= 0 && bucket < BUCKETS)).toBe(true)
      expect(bucketsAfter('x'.repeat(10_000) + reply.slice(-160))).toEqual(
        bucketsAfter(reply.slice(-160).padStart(160, 'x')),
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
      .dense.subarray(EMBEDDINGS_AT)
      .reduce((sum, value, dimension) => sum + value * german.dense[EMBEDDINGS_AT + dimension]!, 0)
  expect(likeness('write a poem')).toBeGreaterThan(likeness('weather in Berlin'))
})
