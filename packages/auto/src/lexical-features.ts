/**
 * Finds the lexicon's phrases in folded text, in one pass. A phrase in an alphabetic script matches complete words, unless
 * it ends in `*`. Korean words may carry particles. Chinese and Japanese phrases match anywhere.
 */

import { ALPHABETIC, charClass, endsWord, foldText, HANGUL, SEPARATOR } from './fold-text.ts'
import { RESPONSE_WORDS } from './lexicon/response.ts'
import { CHAT_WORDS } from './lexicon/chat.ts'
import { EXACT_WORDS } from './lexicon/exact.ts'
import { LIVE_WORDS } from './lexicon/live.ts'
import { MANY_WORDS } from './lexicon/many.ts'
import { buildTrie, descend, type Phrase, type PhraseTrie } from './phrase-trie.ts'

const LEXICON = { ...CHAT_WORDS, ...LIVE_WORDS, ...EXACT_WORDS, ...RESPONSE_WORDS }

export type LexicalFeature = keyof typeof LEXICON
export const LEXICAL_FEATURES = Object.keys(LEXICON) as LexicalFeature[]

const MORE: Partial<Record<LexicalFeature, string>> = MANY_WORDS
/** A phrase's mark is the index of its feature in `LEXICAL_FEATURES`. */
export const PHRASES: readonly Phrase[] = LEXICAL_FEATURES.flatMap((lexicalFeature, mark) =>
  phrases(`${LEXICON[lexicalFeature]}|${MORE[lexicalFeature] ?? ''}`, mark),
)
export const LEXICON_TRIE = buildTrie(PHRASES)

/** Counts the phrases in `text.slice(start, end)`, by mark, into `counts`. `order` gets the marks in the order of the text. */
export function countLexicalFeatures(
  trie: PhraseTrie,
  text: string,
  start: number,
  end: number,
  counts: Uint16Array,
  order?: number[],
): void {
  let before = SEPARATOR
  for (let at = start; at < end; at++) {
    const kind = charClass(text.charCodeAt(at))
    const startsWord = kind !== SEPARATOR && (kind !== before || (kind !== ALPHABETIC && kind !== HANGUL))
    if (startsWord) walk(trie, text, at, end, counts, order)
    before = kind
  }
}

function walk(trie: PhraseTrie, text: string, from: number, end: number, counts: Uint16Array, order?: number[]): void {
  let node = trie.first[text.charCodeAt(from)] ?? -1
  for (let at = from; node >= 0; node = ++at < end ? descend(trie, node, text.charCodeAt(at)) : -1) {
    const open = trie.open[node]
    const complete = trie.complete[node]
    if (open?.length) add(open, counts, order)
    if (complete?.length && endsWord(text, at + 1, end)) add(complete, counts, order)
  }
}

function add(lexicalFeatures: readonly number[], counts: Uint16Array, order?: number[]): void {
  for (const lexicalFeature of lexicalFeatures) {
    counts[lexicalFeature] = (counts[lexicalFeature] ?? 0) + 1
    order?.push(lexicalFeature)
  }
}

function phrases(list: string, mark: number): Phrase[] {
  const written = new Set(list.split('|').map((phrase) => foldText(phrase.trim())))
  return [...written].flatMap((phrase) => {
    const text = phrase.replaceAll('*', '')
    const open = phrase.endsWith('*') || charClass(text.charCodeAt(text.length - 1)) === HANGUL
    return text === '' ? [] : [{ text, mark, open }]
  })
}
