/**
 * English words by groups that mean alike, out of the same sentence model as the meaning: what training learns of "write a
 * poem" holds for "compose some verses". Fine groups stand for a word, coarse ones for a word and for pairs of neighbours.
 */

import type { CellList } from './cell-list.ts'
import file from './meaning.json' with { type: 'json' }
import { PLACE_OF } from './meaning.ts'

const FINE = unpack(file.fine)
const COARSE = unpack(file.coarse)
/** What stands before the first word of a sentence, and for words outside the vocabulary. */
export const NO_WORD = 0xfff0
const UNKNOWN = 0xfff1
/** Take the place of a neighbour, so that a word alone has cells of its own. */
const ALONE_FINE = 0xfff2
const ALONE_COARSE = 0xfff3

/** Adds the cells of a word after one of the group `before`, and returns the word's own group. */
export function addSenses(word: string, before: number, into: CellList): number {
  const place = PLACE_OF.get(word)
  const group = place === undefined ? UNKNOWN : (COARSE[place] ?? UNKNOWN)
  into.add(hashOf(before, group))
  if (place === undefined) return group
  into.add(hashOf(ALONE_FINE, FINE[place] ?? UNKNOWN))
  into.add(hashOf(ALONE_COARSE, group))
  return group
}

function hashOf(before: number, group: number): number {
  return (Math.imul(before + 1, 0x9e3779b1) ^ Math.imul(group + 1, 0xc2b2ae35)) >>> 0
}

/** Two bytes a group, the lower first. */
function unpack(base64: string): Uint16Array {
  const bytes = Buffer.from(base64, 'base64')
  return Uint16Array.from({ length: bytes.length / 2 }, (_, place) => bytes.readUInt16LE(2 * place))
}
