/**
 * Embeds a text, so that texts on one subject are alike without a common word. The embedding is the direction of the sum
 * of its words' vectors. A text in another language has the embedding of its translation.
 */

import { ALPHABETIC, charClass, SEPARATOR } from './fold-text.ts'
import type { Span } from './split-text.ts'
import { WORD_IDS, VOCABULARY } from './vocabulary.ts'

const { dimensions: EMBEDDING_DIMENSIONS, vectors: VECTORS } = VOCABULARY
export { EMBEDDING_DIMENSIONS }
const LONGEST_PIECE = 18
/** The vocabulary holds most words of an English sentence, and fewer of a sentence in another language. */
const KNOWN_SHARE = 0.7
/** Scales an embedding to the size of the other features. */
const LENGTH = 4

/** The parts of a text that have an embedding of their own. */
export const EMBEDDING_ZONES = ['near', 'head', 'tail']

/** Writes the embedding of all spans together, then of the first and of the last one, into `into`, from `at` on. */
export function writeEmbeddings(vectors: readonly Float64Array[], into: Float32Array, at: number): void {
  const [head, ...others] = vectors
  if (!head) return
  const all = others.reduce((sum, vector) => sum.map((value, dimension) => value + (vector[dimension] ?? 0)), head)
  const zones = [all, head, others.at(-1) ?? head]
  zones.forEach((vector, zone) => writeDirection(vector, into, at + zone * EMBEDDING_DIMENSIONS))
}

function writeDirection(vector: Float64Array, into: Float32Array, at: number): void {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  if (length === 0) return
  for (let dimension = 0; dimension < EMBEDDING_DIMENSIONS; dimension++)
    into[at + dimension] = (LENGTH * vector[dimension]!) / length
}

/** The sum of the vectors of these words of the vocabulary. */
export function sumOfWords(wordIds: readonly number[]): Float64Array {
  const vector = new Float64Array(EMBEDDING_DIMENSIONS)
  for (const wordId of wordIds) addVector(wordId, vector)
  return vector
}

/** The sum of the vectors of an English span. A word outside the vocabulary counts by its longest known pieces. */
export function sumOfSpan(text: string, { start, end }: Span): Float64Array {
  const vector = new Float64Array(EMBEDDING_DIMENSIONS)
  const wordIds: number[] = []
  const unknown: Span[] = []
  let words = 0
  for (let from = start; from < end;) {
    const kind = charClass(text.charCodeAt(from))
    let to = from + 1
    if (kind === ALPHABETIC) while (to < end && charClass(text.charCodeAt(to)) === ALPHABETIC) to++
    if (kind !== SEPARATOR) words++
    const wordId = kind === ALPHABETIC ? WORD_IDS.get(text.slice(from, to)) : undefined
    if (wordId !== undefined) wordIds.push(wordId)
    else if (kind === ALPHABETIC) unknown.push({ start: from, end: to })
    from = to
  }
  if (wordIds.length < KNOWN_SHARE * words) return vector
  for (const wordId of wordIds) addVector(wordId, vector)
  for (const word of unknown) addPieces(text, word.start, word.end, vector)
  return vector
}

function addPieces(text: string, from: number, to: number, vector: Float64Array): void {
  let start = from
  while (start < to) {
    let end = Math.min(to, start + LONGEST_PIECE)
    let wordId = pieceAt(text, from, start, end)
    while (wordId === undefined && end > start + 1) wordId = pieceAt(text, from, start, --end)
    if (wordId === undefined) return
    addVector(wordId, vector)
    start = end
  }
}

function pieceAt(text: string, from: number, start: number, end: number): number | undefined {
  return WORD_IDS.get((start > from ? '##' : '') + text.slice(start, end))
}

function addVector(wordId: number, vector: Float64Array): void {
  const row = wordId * EMBEDDING_DIMENSIONS
  for (let dimension = 0; dimension < EMBEDDING_DIMENSIONS; dimension++) vector[dimension]! += VECTORS[row + dimension]!
}
