/**
 * The English words that the chooser knows, and in the order of their places a vector and two groups of like meaning for each.
 * `meaning.json.br` has pieces of words out of a sentence model (`train/distil_meaning.py`).
 */

import { readPacked } from './read-packed.ts'

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
    fine: readPairs(fine),
    coarse: readPairs(coarse),
  }
}

function readPairs(base64: string): Uint16Array {
  const bytes = Buffer.from(base64, 'base64')
  return Uint16Array.from({ length: bytes.length / 2 }, (_, place) => bytes.readUInt16LE(2 * place))
}

export const VOCABULARY = readVocabulary()
export const PLACE_OF = VOCABULARY.placeOf
