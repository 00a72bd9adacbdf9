/**
 * Embeds a text, so that texts on one subject are alike without a common word. The embedding is the direction of the sum
 * of its words' vectors. A text in another language has the embedding of its translation.
 */

import { ALPHABETIC, charClass, SEPARATOR } from './fold-text.ts'
import type { Span } from './split-text.ts'
import { PLACE_OF, VOCABULARY } from './vocabulary.ts'

const { axes: MEANING_AXES, vectors: VECTORS } = VOCABULARY
export { MEANING_AXES }
const LONGEST_PIECE = 18
/** The vocabulary holds most words of an English sentence, and fewer of a sentence in another language. */
const KNOWN_SHARE = 0.7
/** Scales an embedding to the size of the other features. */
const LENGTH = 4

/** The parts of a text that have an embedding of their own. */
export const MEANING_ZONES = ['near', 'head', 'tail']

/** Writes the embedding of all spans together, then of the first and of the last one, into `into`, from `at` on. */
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

/** The sum of the vectors of these words of the vocabulary. */
export function meaningOfPlaces(places: readonly number[]): Float64Array {
  const vector = new Float64Array(MEANING_AXES)
  for (const place of places) addVector(place, vector)
  return vector
}

/** The sum of the vectors of an English span. A word outside the vocabulary counts by its longest known pieces. */
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
