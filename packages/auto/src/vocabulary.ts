/**
 * The English vocabulary: a word's id is its index, and each word has a vector and two clusters. `meaning.json.br` has pieces
 * of words out of a sentence model (`training/auto/distil_meaning.py`).
 */

import { readPacked, unpackPairs } from './read-packed.ts'

export interface MeaningFile {
  axes: number
  /** The frequent ones first; pieces that do not start a word begin with `##`. */
  pieces: string
  /** By piece, one byte an axis, in base64. */
  bytes: string
  /** By piece, two bytes, the lower first, in base64. */
  fine: string
  coarse: string
}

interface Vocabulary {
  axes: number
  placeOf: ReadonlyMap<string, number>
  vectors: Int8Array
  fine: Uint16Array
  coarse: Uint16Array
}

function readVocabulary(): Vocabulary {
  const { axes, pieces, bytes, fine, coarse } = readPacked('meaning.json.br') as MeaningFile
  return {
    axes,
    placeOf: new Map(pieces.split(' ').map((piece, place) => [piece, place])),
    vectors: new Int8Array(Buffer.from(bytes, 'base64')),
    fine: unpackPairs(fine),
    coarse: unpackPairs(coarse),
  }
}

export const VOCABULARY = readVocabulary()
export const PLACE_OF = VOCABULARY.placeOf
