/**
 * The English vocabulary: a word's id is its index, and each word has a vector and two clusters. `meaning.json.br` has pieces
 * of words out of a sentence model (`training/auto/distil_meaning.py`).
 */

import { readPacked, unpackPairs } from './read-packed.ts'

export interface VocabularyFile {
  axes: number
  /** The frequent ones first; pieces that do not start a word begin with `##`. */
  pieces: string
  /** By piece, one byte for each dimension, in base64. */
  bytes: string
  /** By piece, two bytes, the lower first, in base64. */
  fine: string
  coarse: string
}

interface Vocabulary {
  dimensions: number
  wordIds: ReadonlyMap<string, number>
  vectors: Int8Array
  fine: Uint16Array
  coarse: Uint16Array
}

function readVocabulary(): Vocabulary {
  const { axes, pieces, bytes, fine, coarse } = readPacked('meaning.json.br') as VocabularyFile
  return {
    dimensions: axes,
    wordIds: new Map(pieces.split(' ').map((piece, id) => [piece, id])),
    vectors: new Int8Array(Buffer.from(bytes, 'base64')),
    fine: unpackPairs(fine),
    coarse: unpackPairs(coarse),
  }
}

export const VOCABULARY = readVocabulary()
export const WORD_IDS = VOCABULARY.wordIds
