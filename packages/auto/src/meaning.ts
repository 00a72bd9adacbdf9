/**
 * What a text is about, whichever words say so: the mean of its words' vectors. A text in another
 * language has the meaning of its translation.
 */

import { ALPHABETIC, charClass, SEPARATOR } from './fold-text.ts'
import type { Span } from './split-text.ts'
import { PLACE_OF, VOCABULARY } from './vocabulary.ts'

const { axes: MEANING_AXES, vectors: VECTORS } = VOCABULARY
export { MEANING_AXES }
const LONGEST_PIECE = 18
/** The vocabulary holds most words of an English sentence whole, and fewer of one in another language. */
const KNOWN_SHARE = 0.7
/** As long as the other features are. */
const LENGTH = 4

/** The parts of a text whose meaning counts by itself. */
export const MEANING_ZONES = ['near', 'head', 'tail']

/** Writes the direction of what all spans mean, then the first and the last of them, into `into`, from `at` on. */
export function writeMeaning(meanings: readonly Float64Array[], into: Float32Array, at: number): void {
  const [head, ...others] = meanings
  if (!head) return
  const all = others.reduce((sum, vector) => sum.map((value, axis) => value + (vector[axis] ?? 0)), head)
  const zones = [all, head, others.at(-1) ?? head]
  zones.forEach((vector, zone) => writeDirection(vector, into, at + zone * MEANING_AXES))
}

function writeDirection(vector: Float64Array, into: Float32Array, at: number): void {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  if (length === 0) return
  for (let axis = 0; axis < MEANING_AXES; axis++) into[at + axis] = (LENGTH * vector[axis]!) / length
}

/** Of the words at these places in the vocabulary. */
export function meaningOfPlaces(places: readonly number[]): Float64Array {
  const vector = new Float64Array(MEANING_AXES)
  for (const place of places) addVector(place, vector)
  return vector
}

/** Of English text. A word outside the vocabulary counts by its longest known pieces. */
export function meaningOf(text: string, { start, end }: Span): Float64Array {
  const vector = new Float64Array(MEANING_AXES)
  const places: number[] = []
  const unknown: Span[] = []
  let words = 0
  for (let from = start; from < end;) {
    const kind = charClass(text.charCodeAt(from))
    let to = from + 1
    if (kind === ALPHABETIC) while (to < end && charClass(text.charCodeAt(to)) === ALPHABETIC) to++
    if (kind !== SEPARATOR) words++
    const place = kind === ALPHABETIC ? PLACE_OF.get(text.slice(from, to)) : undefined
    if (place !== undefined) places.push(place)
    else if (kind === ALPHABETIC) unknown.push({ start: from, end: to })
    from = to
  }
  if (places.length < KNOWN_SHARE * words) return vector
  for (const place of places) addVector(place, vector)
  for (const word of unknown) addPieces(text, word.start, word.end, vector)
  return vector
}

function addPieces(text: string, from: number, to: number, vector: Float64Array): void {
  let start = from
  while (start < to) {
    let end = Math.min(to, start + LONGEST_PIECE)
    let place = pieceAt(text, from, start, end)
    while (place === undefined && end > start + 1) place = pieceAt(text, from, start, --end)
    if (place === undefined) return
    addVector(place, vector)
    start = end
  }
}

function pieceAt(text: string, from: number, start: number, end: number): number | undefined {
  return PLACE_OF.get((start > from ? '##' : '') + text.slice(start, end))
}

function addVector(place: number, vector: Float64Array): void {
  const row = place * MEANING_AXES
  for (let axis = 0; axis < MEANING_AXES; axis++) vector[axis]! += VECTORS[row + axis]!
}
