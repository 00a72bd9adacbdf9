/**
 * The features of a text: lexical features by position, its shape, its embedding, and hashed n-grams of words, of their
 * pieces and of their clusters. Embeddings and clusters are those of English words, written or translated. Training and
 * the edge run the same code.
 */

import { BucketSet } from './bucket-set.ts'
import { RESPONSE_TRAIT_NAMES, responseTraits } from './response-traits.ts'
import { countLexicalFeatures, type LexicalFeature, LEXICAL_FEATURES, LEXICON_TRIE } from './lexical-features.ts'
import { ALPHABETIC, charClass, foldText, HANGUL, wordEnd } from './fold-text.ts'
import { LANES } from './lanes.ts'
import { EMBEDDING_DIMENSIONS, EMBEDDING_ZONES, sumOfSpan, sumOfWords, writeEmbeddings } from './embeddings.ts'
import type { PhraseTrie } from './phrase-trie.ts'
import type { Turns } from './read-text.ts'
import { addClusters, startSentence } from './word-clusters.ts'
import { SHAPE_NAMES, writeShape } from './shape.ts'
import { sentences, type Span } from './split-text.ts'
import { translate } from './translate.ts'
import { WORD_IDS } from './vocabulary.ts'

/** Longer texts have their own features, since phrases in their middle say less. */
const SHORT_CHARS = 220
/** The groups of hashed features, and the number of buckets of each. `senses` are the clusters of words. */
export const HASHED_GROUPS = ['words', 'pieces', 'senses'] as const
export const BUCKETS = 65_536
/** The last sentence of the response before a message counts, up to this length. */
const RESPONSE_CHARS = 160
/** Hashes the words of a response to other buckets than those of the message. */
const RESPONSE_SALT = 0x85ebca6b
/** Letters of a piece of a word, its boundaries included. */
const PIECE_LETTERS = 4
const HANGUL_PIECE_LETTERS = 2
const IDEOGRAPHIC_PIECE_LETTERS = 3
const BOUNDARY = 1

const ZONES = ['short', 'long', 'head', 'tail', 'often'] as const
/**
 * The objects of a request. The first and the last one of a sentence are features. "A poem about a compiler" is a poem,
 * "a function that prints a poem" a function. Verbs stand first in some languages and last in others.
 */
const REQUEST_OBJECTS: LexicalFeature[] = [
  'artefact',
  'language',
  'homonym',
  'tool',
  'codeNoun',
  'thingNoun',
  'error',
  'proof',
  'maths',
  'puzzle',
  'sources',
  'weather',
  'market',
  'news',
  'place',
  'reword',
  'explain',
  'factWh',
  'sums',
  'device',
  'personal',
]
const OBJECT_OF_LEXICAL_FEATURE = LEXICAL_FEATURES.map((lexicalFeature) => REQUEST_OBJECTS.indexOf(lexicalFeature))
const OBJECT_ZONES = ['head-first', 'head-last', 'tail-first', 'tail-last']
/** The context of the last message: the lane of the user's message before it, and the form of the response. */
const CONTEXT_NAMES = [...LANES.map((lane) => `after-${lane}`), ...RESPONSE_TRAIT_NAMES]
/** The degree to which a message needs its context; a brief one is near, too. */
const REACHES = ['near', 'brief', 'far'] as const
const CONTEXT_FEATURE_NAMES = REACHES.flatMap((reach) => CONTEXT_NAMES.map((name) => `${name}@${reach}`))

export const DENSE_NAMES = [
  ...ZONES.flatMap((zone) => LEXICAL_FEATURES.map((lexicalFeature) => `${lexicalFeature}@${zone}`)),
  ...SHAPE_NAMES,
  ...CONTEXT_FEATURE_NAMES,
  ...OBJECT_ZONES.flatMap((zone) => REQUEST_OBJECTS.map((requestObject) => `${requestObject}@${zone}`)),
  ...EMBEDDING_ZONES.flatMap((zone) =>
    Array.from({ length: EMBEDDING_DIMENSIONS }, (_, dimension) => `meaning-${dimension}@${zone}`),
  ),
]
const SHAPE_AT = ZONES.length * LEXICAL_FEATURES.length
const CONTEXT_AT = SHAPE_AT + SHAPE_NAMES.length
const REQUEST_OBJECTS_AT = CONTEXT_AT + CONTEXT_FEATURE_NAMES.length
/** The dense features from here on describe the text's subject; the ones before, its form. */
export const EMBEDDINGS_AT = REQUEST_OBJECTS_AT + OBJECT_ZONES.length * REQUEST_OBJECTS.length

/** The buckets of words and pairs of words, of the pieces of words and of clusters, each once. */
export type HashedFeatures = Record<(typeof HASHED_GROUPS)[number], number[]>

export interface Features extends HashedFeatures {
  /** A value for each name of `DENSE_NAMES`. */
  dense: Float32Array
}

export function readFeatures(raw: string, length: number, lexicon: PhraseTrie = LEXICON_TRIE): Features {
  const dense = new Float32Array(DENSE_NAMES.length)
  const text = foldText(raw)
  const spans = sentences(text)
  writeLexicalFeatures(lexicon, text, spans, dense)
  writeShape(raw, spans, length, dense, SHAPE_AT)
  const near = nearSpans(spans)
  const translated = translate(text, near)
  writeEmbeddings(translated?.map(sumOfWords) ?? near.map((span) => sumOfSpan(text, span)), dense, EMBEDDINGS_AT)
  return { dense, ...ngrams(text, near, translated) }
}

/**
 * Adds the context to the features of a later message. `before` holds the lanes' probabilities for the message before. The
 * context counts more for a brief message. The words of the response count, too: "For how many?" makes "two" a part of a
 * search.
 */
export function withContext(features: Features, { last, reply }: Turns, before: Float64Array): Features {
  const dense = features.dense.slice()
  const context = [...before, ...responseTraits(reply)]
  for (const reach of reachesOf(last)) dense.set(context, CONTEXT_AT + REACHES.indexOf(reach) * CONTEXT_NAMES.length)
  return { ...features, dense, words: [...features.words, ...responseBuckets(reply)] }
}

function responseBuckets(reply: string): number[] {
  const text = foldText(reply.slice(-RESPONSE_CHARS))
  const { start, end } = sentences(text).at(-1) ?? { start: 0, end: 0 }
  const { words } = SCRATCH
  words.start()
  for (let at = start; at < end;) {
    const from = at
    at = wordEnd(text, from, end)
    if (at > from) words.add(Math.imul(hash(text, from, at), RESPONSE_SALT) >>> 0)
    else at++
  }
  return words.buckets
}

function reachesOf(text: string): (typeof REACHES)[number][] {
  const words = text.trim().split(/\s+/).length
  if (words <= 6 && text.length <= 40) return ['near', 'brief']
  return words <= 14 && text.length <= 90 ? ['near'] : ['far']
}

/** True where the first or the last sentence has the feature, or a short text has it anywhere. */
export function hasLexicalFeature({ dense }: Features, lexicalFeature: LexicalFeature): boolean {
  const at = LEXICAL_FEATURES.indexOf(lexicalFeature)
  return [0, 2, 3].some((zone) => dense[zone * LEXICAL_FEATURES.length + at] !== 0)
}

function writeLexicalFeatures(lexicon: PhraseTrie, text: string, spans: readonly Span[], dense: Float32Array): void {
  const all = new Uint16Array(LEXICAL_FEATURES.length)
  const head = new Uint16Array(LEXICAL_FEATURES.length)
  const tail = new Uint16Array(LEXICAL_FEATURES.length)
  spans.forEach((span, index) => {
    const isHead = index === 0
    const isTail = index === spans.length - 1
    const counts = isHead ? head : isTail ? tail : all
    const order: number[] = []
    countLexicalFeatures(lexicon, text, span.start, span.end, counts, isHead || isTail ? order : undefined)
    if (isHead) writeRequestObjects(order, REQUEST_OBJECTS_AT, dense)
    if (isTail) writeRequestObjects(order, REQUEST_OBJECTS_AT + 2 * REQUEST_OBJECTS.length, dense)
  })
  const onlyOne = spans.length === 1
  const zone = text.length <= SHORT_CHARS ? 0 : 1
  for (let lexicalFeature = 0; lexicalFeature < LEXICAL_FEATURES.length; lexicalFeature++) {
    const inHead = head[lexicalFeature] ?? 0
    const inTail = onlyOne ? inHead : (tail[lexicalFeature] ?? 0)
    const total = (all[lexicalFeature] ?? 0) + inHead + (onlyOne ? 0 : inTail)
    dense[zone * LEXICAL_FEATURES.length + lexicalFeature] = Math.min(1, Math.log2(1 + total) / 2)
    dense[2 * LEXICAL_FEATURES.length + lexicalFeature] = inHead > 0 ? 1 : 0
    dense[3 * LEXICAL_FEATURES.length + lexicalFeature] = inTail > 0 ? 1 : 0
    dense[4 * LEXICAL_FEATURES.length + lexicalFeature] = Math.min(1, Math.max(0, total - 2) / 8)
  }
}

function writeRequestObjects(order: readonly number[], at: number, dense: Float32Array): void {
  const requestObjects = order
    .map((lexicalFeature) => OBJECT_OF_LEXICAL_FEATURE[lexicalFeature] ?? -1)
    .filter((requestObject) => requestObject >= 0)
  const [first] = requestObjects
  const last = requestObjects.at(-1)
  if (first !== undefined) dense[at + first] = 1
  if (last !== undefined) dense[at + REQUEST_OBJECTS.length + last] = 1
}

/**
 * Hashes words, pairs, pieces and clusters of words of the first and the last sentences; of ideographic text, characters,
 * pairs and triples of them.
 */
function ngrams(text: string, near: readonly Span[], translated: number[][] | null): HashedFeatures {
  for (const list of HASHED_GROUPS) SCRATCH[list].start()
  for (const span of near) addNgrams(text, span, translated === null)
  for (const wordIds of translated ?? []) {
    const before = startSentence()
    for (const wordId of wordIds) addClusters(wordId, before, SCRATCH.senses)
  }
  return { words: SCRATCH.words.buckets, pieces: SCRATCH.pieces.buckets, senses: SCRATCH.senses.buckets }
}

/** Reused for each text, so that no text allocates sets. */
const SCRATCH = { words: new BucketSet(BUCKETS), pieces: new BucketSet(BUCKETS), senses: new BucketSet(BUCKETS) }

/** The first two sentences and the last two. */
function nearSpans(spans: readonly Span[]): readonly Span[] {
  return spans.length <= 4 ? spans : [...spans.slice(0, 2), ...spans.slice(-2)]
}

function addNgrams(text: string, span: Span, isUntranslated: boolean): void {
  const { words, pieces } = SCRATCH
  const end = Math.min(span.end, span.start + 300)
  let before = 1
  const senses = startSentence()
  for (let at = span.start; at < end;) {
    const from = at
    at = wordEnd(text, from, end)
    if (at === from) {
      at++
      continue
    }
    const kind = charClass(text.charCodeAt(from))
    const word = hash(text, from, at)
    words.add(word)
    words.add((Math.imul(before, 0x9e3779b1) ^ word) >>> 0)
    before = word
    if (kind === ALPHABETIC) {
      addPieces(text, from, at, PIECE_LETTERS, pieces)
      if (isUntranslated) addClusters(WORD_IDS.get(text.slice(from, at)), senses, SCRATCH.senses)
    } else if (kind === HANGUL) addPieces(text, from, at, HANGUL_PIECE_LETTERS, pieces)
    else pieces.add(hash(text, from, Math.min(end, from + IDEOGRAPHIC_PIECE_LETTERS)))
  }
}

/** Adds every run of letters of the word from `from` to `to`, with its boundaries as letters. */
function addPieces(text: string, from: number, to: number, letters: number, pieces: BucketSet): void {
  for (let start = from - 1; start === from - 1 || start + letters <= to + 1; start++) {
    let value = FNV_START
    for (let at = start; at < start + letters && at <= to; at++)
      value = Math.imul(value ^ (at < from || at === to ? BOUNDARY : text.charCodeAt(at)), FNV_FACTOR)
    pieces.add(value >>> 0)
  }
}

const FNV_START = 0x811c9dc5
const FNV_FACTOR = 0x01000193

/** FNV-1a. */
function hash(text: string, start: number, end: number): number {
  let value = FNV_START
  for (let at = start; at < end; at++) value = Math.imul(value ^ text.charCodeAt(at), FNV_FACTOR)
  return value >>> 0
}
