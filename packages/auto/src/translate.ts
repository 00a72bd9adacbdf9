/**
 * Translates a text word by word into English. A weight that training learns in English then holds in other languages, too.
 */

import { ALPHABETIC, charClass, IDEOGRAPHIC, SEPARATOR, wordEnd } from './fold-text.ts'
import { readPacked } from './read-packed.ts'
import type { Span } from './split-text.ts'
import { functionWordsOf, likelyLanguages } from './detect-language.ts'
import { WORD_IDS } from './vocabulary.ts'
import { MAY_CONTINUE, lengthOf, longestForm, openWordList, type WordList, type WordListFile } from './word-list.ts'

export interface WordsFile {
  /** English words in the order in which the lists count them. */
  english: string
  /** By language. */
  lists: Record<string, WordListFile>
}

/** The part of a sentence that is translated. */
const MOST_CHARS = 200
/** A language must know this share of the words. */
const LEAST_SHARE = 0.25
/** The weight of a word that English has, for English and for another language that has it, too. */
const KNOWN_WORD = 0.8
/** Shorter English words in a text of another language are mostly that language's own. */
const BORROWED_LETTERS = 4
const BORROWED = /^[a-z]+$/

const file = readPacked('words.json.br') as WordsFile
/** The id in the vocabulary by the number of an English word. A form without a translation has a number beyond them. */
const WORD_ID_OF_NUMBER = file.english.split(' ').map((word) => WORD_IDS.get(word))
const LISTS = new Map(Object.entries(file.lists).map(([language, list]) => [language, openWordList(list)]))
const ENGLISH = new Set(functionWordsOf('en'))

interface Reading {
  /** By span, ids in the vocabulary. Null where the text is English. */
  wordIds: number[][] | null
  /** The number of words of the text that the language has. */
  words: number
}

/** By span, the ids of the English words that translate it. Null where the text is English, or in no known language. */
export function translate(text: string, complete: readonly Span[]): number[][] | null {
  const spans = complete.map(({ start, end }) => ({ start, end: Math.min(end, start + MOST_CHARS) }))
  const { languages, words } = likelyLanguages(text, spans)
  if (languages.length === 1 && languages[0] === 'en') return null
  let best: Reading = { wordIds: null, words: LEAST_SHARE * words }
  for (const language of languages) {
    const reading = language === 'en' ? readEnglish(text, spans) : readIn(language, text, spans)
    if (reading.words > best.words) best = reading
  }
  return best.wordIds
}

function readEnglish(text: string, spans: readonly Span[]): Reading {
  let words = 0
  for (const { start, end } of spans) {
    for (let at = start; at < end;) {
      const to = wordEnd(text, at, end)
      const word = to > at ? text.slice(at, to) : ''
      if (ENGLISH.has(word)) words++
      else if (word.length > 1 && WORD_IDS.has(word)) words += KNOWN_WORD
      at = Math.max(to, at + 1)
    }
  }
  return { wordIds: null, words }
}

function readIn(language: string, text: string, spans: readonly Span[]): Reading {
  const list = LISTS.get(language)
  const reading: Reading & { wordIds: number[][] } = { wordIds: [], words: 0 }
  for (const span of spans) {
    const wordIds: number[] = []
    if (list) reading.words += readSpan(list, text, span, wordIds)
    reading.wordIds.push(wordIds)
  }
  return reading
}

/** Returns the number of words that the list has. */
function readSpan(list: WordList, text: string, { start, end }: Span, wordIds: number[]): number {
  let words = 0
  for (let at = start; at < end;) {
    const kind = charClass(text.charCodeAt(at))
    const form = kind === SEPARATOR ? -1 : longestForm(list, text, at, end)
    if (form >= 0) {
      const from = at
      at += lengthOf(list, form)
      const wordId = WORD_ID_OF_NUMBER[(list.says[form] ?? 0) & ~MAY_CONTINUE]
      words += kind === IDEOGRAPHIC ? (at - from) / 2 : weightOf(text, from, at, wordId)
      addWordId(wordId, wordIds)
      // The rest of a Korean word may be another form.
      if (kind === ALPHABETIC) at = wordEnd(text, at - 1, end)
    } else {
      const to = wordEnd(text, at, end)
      if (kind === ALPHABETIC && to - at >= BORROWED_LETTERS) addWordId(borrowedAt(text, at, to), wordIds)
      at = Math.max(to, at + 1)
    }
  }
  return words
}

function borrowedAt(text: string, from: number, to: number): number | undefined {
  const word = text.slice(from, to)
  return BORROWED.test(word) ? WORD_IDS.get(word) : undefined
}

function addWordId(wordId: number | undefined, wordIds: number[]): void {
  if (wordId !== undefined) wordIds.push(wordId)
}

/** The number of words in a form. A form that is an English word, too, counts less: it may be English here. */
function weightOf(text: string, from: number, to: number, wordId: number | undefined): number {
  let words = 0
  let before: number = SEPARATOR
  for (let at = from; at < to; at++) {
    const kind = charClass(text.charCodeAt(at))
    if (kind !== SEPARATOR && before === SEPARATOR) words++
    before = kind
  }
  const isEnglish = words === 1 && wordId !== undefined && WORD_IDS.has(text.slice(from, to))
  return isEnglish ? KNOWN_WORD : words
}
