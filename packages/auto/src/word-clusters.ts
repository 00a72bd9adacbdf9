/**
 * Hashes clusters of English words, which come out of the same sentence model as the embeddings. A weight that training
 * learns for "write a poem" then holds for "compose some verses". Each word has a fine and a coarse cluster. Pairs use the
 * coarse ones: pairs of neighbours, and pairs of content words in either order. The latter are the same in "write a poem"
 * and "Gedicht schreiben".
 */

import type { BucketSet } from './bucket-set.ts'
import { functionWordsOf } from './detect-language.ts'
import { WORD_IDS, VOCABULARY } from './vocabulary.ts'

const { fine: FINE, coarse: COARSE } = VOCABULARY
/** Clusters for the start of a sentence, and for words outside the vocabulary. */
const NO_WORD = 0xfff0
const UNKNOWN = 0xfff1
/** They replace the neighbour in a pair, so that a single word has buckets of its own. */
const ALONE_FINE = 0xfff2
const ALONE_COARSE = 0xfff3
const IS_FUNCTION_WORD = new Uint8Array(COARSE.length)
for (const word of functionWordsOf('en')) {
  const wordId = WORD_IDS.get(word)
  if (wordId !== undefined) IS_FUNCTION_WORD[wordId] = 1
}

/** The clusters of the words before: of the neighbour, and of the last content word. */
export interface Before {
  word: number
  content: number
}

export function startSentence(): Before {
  return { word: NO_WORD, content: NO_WORD }
}

/** Adds the buckets of a word by its id in the vocabulary, if it has one. */
export function addClusters(wordId: number | undefined, before: Before, into: BucketSet): void {
  const cluster = wordId === undefined ? UNKNOWN : (COARSE[wordId] ?? UNKNOWN)
  into.add(hashOf(before.word, cluster))
  before.word = cluster
  if (wordId === undefined) return
  into.add(hashOf(ALONE_FINE, FINE[wordId] ?? UNKNOWN))
  into.add(hashOf(ALONE_COARSE, cluster))
  if (IS_FUNCTION_WORD[wordId] === 1) return
  into.add(pairOf(before.content, cluster))
  before.content = cluster
}

function hashOf(before: number, cluster: number): number {
  return (Math.imul(before + 1, 0x9e3779b1) ^ Math.imul(cluster + 1, 0xc2b2ae35)) >>> 0
}

/** Hashes both orders to the same bucket. */
function pairOf(one: number, other: number): number {
  const first = Math.min(one, other)
  return (Math.imul(first + 1, 0x85ebca6b) ^ Math.imul(Math.max(one, other) + 1, 0x27d4eb2f)) >>> 0
}
