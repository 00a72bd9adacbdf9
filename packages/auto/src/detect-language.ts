/**
 * Detects the language of a text by its letters and its function words, so that its words are looked up in the right list.
 */

import { ALPHABETIC, charClass, foldText, HANGUL, wordEnd } from './fold-text.ts'
import { FUNCTION_WORDS } from './lexicon/function-words.ts'
import type { Span } from './split-text.ts'

/** A text up to this length may be in any language, unless one language has enough votes. */
const FEW_WORDS = 12
const SURE_VOTES = 2
/** English and another language are both possible where their votes are at least this close. */
const CLOSE = 0.6
/** So many languages this close are compared by all their words. Of more, only those with the most votes are. */
const CLOSEST = 0.8
const MOST_LANGUAGES = 2
const MOST_EQUAL = 3
const VOWELS = 'aeiouy'
/** Half as many words of other letters as Latin ones decide the language: technical terms are often English. */
const OTHER_LETTERS = 0.5
/** Japanese writes at least one of its own letters for so many ideographs. */
const IDEOGRAPHS_PER_KANA = 5

/** Languages of Latin letters. The first one is English. */
const LATIN = Object.keys(FUNCTION_WORDS)
const ENGLISH = LATIN.slice(0, 1)
const LANGUAGES_OF = new Map<string, number[]>()
LATIN.forEach((language, index) => {
  for (const word of functionWordsOf(language)) LANGUAGES_OF.set(word, [...(LANGUAGES_OF.get(word) ?? []), index])
})
const LONGEST_FUNCTION_WORD = Math.max(...[...LANGUAGES_OF.keys()].map((word) => word.length))

const LETTERS = {
  latin: 0,
  hangul: 1,
  kana: 2,
  ideographs: 3,
  cyrillic: 4,
  arabic: 5,
  devanagari: 6,
  thai: 7,
  other: 8,
} as const
/** By letters other than Latin ones: the languages that use them. */
export const LANGUAGES_OF_LETTERS = [['ko'], ['ja'], ['zh'], ['ru', 'uk'], ['ar', 'fa'], ['hi'], ['th'], []]

export interface LanguageGuess {
  /** Codes of ISO 639-1, English among them if the text may be English. */
  languages: readonly string[]
  /** The number of words in the text. */
  words: number
}

/** The function words of a language, folded. */
export function functionWordsOf(language: string): string[] {
  const words: Record<string, string | undefined> = FUNCTION_WORDS
  const folded = foldText(words[language] ?? '').split(/\s+/)
  // Folding makes some of them alike.
  return [...new Set(folded)].filter((word) => word !== '')
}

export function likelyLanguages(text: string, spans: readonly Span[]): LanguageGuess {
  const counts = new Float64Array(1 + LANGUAGES_OF_LETTERS.length)
  const votes = new Float64Array(LATIN.length)
  for (const { start, end } of spans) {
    for (let at = start; at < end;) {
      const to = wordEnd(text, at, end)
      if (to > at) countWord(text, at, to, counts, votes)
      at = Math.max(to, at + 1)
    }
  }
  const words = counts.reduce((sum, count) => sum + count)
  const others = otherLanguages(counts)
  if (others) return { languages: others, words }
  return { languages: byVotes(votes, words), words }
}

function countWord(text: string, from: number, to: number, counts: Float64Array, votes: Float64Array): void {
  const first = text.charCodeAt(from)
  const kind = charClass(first)
  const script = scriptOf(first, kind)
  // Two ideographs are about one word.
  counts[script] = (counts[script] ?? 0) + (kind === ALPHABETIC || kind === HANGUL ? 1 : 0.5)
  if (script !== LETTERS.latin || to - from > LONGEST_FUNCTION_WORD) return
  // "in C" is not Italian: a single consonant is a function word only beside an apostrophe.
  if (to - from === 1 && !VOWELS.includes(text.charAt(from)) && !isByApostrophe(text, from, to)) return
  const languages = LANGUAGES_OF.get(text.slice(from, to))
  if (languages) for (const language of languages) votes[language] = (votes[language] ?? 0) + 1
}

function isByApostrophe(text: string, from: number, to: number): boolean {
  return text.charAt(to) === "'" || text.charAt(from - 1) === "'"
}

function scriptOf(code: number, kind: number): number {
  if (code < 0x370) return LETTERS.latin
  if (kind === HANGUL) return LETTERS.hangul
  if (code >= 0x400 && code < 0x530) return LETTERS.cyrillic
  if (code >= 0x600 && code < 0x700) return LETTERS.arabic
  if (code >= 0x900 && code < 0x980) return LETTERS.devanagari
  if (code >= 0xe00 && code < 0xe80) return LETTERS.thai
  if (code >= 0x3040 && code < 0x3100) return LETTERS.kana
  return code >= 0x3400 && code < 0xa000 ? LETTERS.ideographs : LETTERS.other
}

/** The languages of the letters; null where the letters are Latin. */
function otherLanguages(counts: Float64Array): readonly string[] | null {
  const kana = counts[LETTERS.kana] ?? 0
  const ideographs = counts[LETTERS.ideographs] ?? 0
  const isJapanese = kana * IDEOGRAPHS_PER_KANA >= ideographs
  const [latin = 0, ...others] = counts
    .with(LETTERS.kana, isJapanese ? kana + ideographs : kana)
    .with(LETTERS.ideographs, isJapanese ? 0 : ideographs)
  const most = Math.max(...others)
  return most > 0 && most >= OTHER_LETTERS * latin ? (LANGUAGES_OF_LETTERS[others.indexOf(most)] ?? null) : null
}

/** English is included wherever it is possible. A longer text without function words counts as English. */
function byVotes(votes: Float64Array, words: number): readonly string[] {
  const [english = 0, ...others] = votes
  const most = Math.max(...others)
  const isBrief = words <= FEW_WORDS
  if (isBrief && Math.max(english, most) < SURE_VOTES) return LATIN
  if (most < SURE_VOTES || most < CLOSE * english) return ENGLISH
  const close = LATIN.filter((_, language) => language > 0 && (votes[language] ?? 0) >= CLOSEST * most)
  const equal = LATIN.filter((_, language) => language > 0 && votes[language] === most)
  const likely = close.length > MOST_LANGUAGES ? equal.slice(0, MOST_EQUAL) : close
  return isBrief || english >= CLOSE * most ? [...ENGLISH, ...likely] : likely
}
