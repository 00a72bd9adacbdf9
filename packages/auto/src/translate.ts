/**
 * Translates a text word by word into English. A weight that training learns in English then holds in other languages, too.
 */

import { ALPHABETIC, charClass, IDEOGRAPHIC, SEPARATOR, wordEnd } from './fold-text.ts'
import { readPacked } from './read-packed.ts'
import type { Span } from './split-text.ts'
import { functionWordsOf, likelyLanguages } from './tell-language.ts'
import { PLACE_OF } from './vocabulary.ts'
import { GOES_ON, lengthOf, longestForm, openWordList, type WordList, type WordListFile } from './word-list.ts'

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
const PLACES = file.english.split(' ').map((word) => PLACE_OF.get(word))
const LISTS = new Map(Object.entries(file.lists).map(([language, list]) => [language, openWordList(list)]))
const ENGLISH = new Set(functionWordsOf('en'))

interface Reading {
  /** By span, ids in the vocabulary. Null where the text is English. */
  places: number[][] | null
  /** The number of words of the text that the language has. */
  words: number
}

/** By span, the ids of the English words that translate it. Null where the text is English, or in no known language. */
export function translate(text: string, complete: readonly Span[]): number[][] | null {
  const spans = complete.map(({ start, end }) => ({ start, end: Math.min(end, start + MOST_CHARS) }))
  const { languages, words } = likelyLanguages(text, spans)
  if (languages.length === 1 && languages[0] === 'en') return null
  let best: Reading = { places: null, words: LEAST_SHARE * words }
  for (const language of languages) {
    const reading = language === 'en' ? readEnglish(text, spans) : readIn(language, text, spans)
    if (reading.words > best.words) best = reading
  }
  return best.places
}

function readEnglish(text: string, spans: readonly Span[]): Reading {
  let words = 0
  for (const { start, end } of spans) {
    for (let at = start; at < end;) {
      const to = wordEnd(text, at, end)
      const word = to > at ? text.slice(at, to) : ''
      if (ENGLISH.has(word)) words++
      else if (word.length > 1 && PLACE_OF.has(word)) words += KNOWN_WORD
      at = Math.max(to, at + 1)
    }
  }
  return { places: null, words }
}

function readIn(language: string, text: string, spans: readonly Span[]): Reading {
  const list = LISTS.get(language)
  const reading: Reading & { places: number[][] } = { places: [], words: 0 }
  for (const span of spans) {
    const places: number[] = []
    if (list) reading.words += readSpan(list, text, span, places)
    reading.places.push(places)
  }
  return reading
}

/** Returns the number of words that the list has. */
function readSpan(list: WordList, text: string, { start, end }: Span, places: number[]): number {
  let words = 0
  for (let at = start; at < end;) {
    const kind = charClass(text.charCodeAt(at))
    const form = kind === SEPARATOR ? -1 : longestForm(list, text, at, end)
    if (form >= 0) {
      const from = at
      at += lengthOf(list, form)
      const place = PLACES[(list.says[form] ?? 0) & ~GOES_ON]
      words += kind === IDEOGRAPHIC ? (at - from) / 2 : weightOf(text, from, at, place)
      addPlace(place, places)
      // The rest of a Korean word may be another form.
      if (kind === ALPHABETIC) at = wordEnd(text, at - 1, end)
    } else {
      const to = wordEnd(text, at, end)
      if (kind === ALPHABETIC && to - at >= BORROWED_LETTERS) addPlace(borrowedAt(text, at, to), places)
      at = Math.max(to, at + 1)
    }
  }
  return words
}

function borrowedAt(text: string, from: number, to: number): number | undefined {
  const word = text.slice(from, to)
  return BORROWED.test(word) ? PLACE_OF.get(word) : undefined
}

function addPlace(place: number | undefined, places: number[]): void {
  if (place !== undefined) places.push(place)
}

/** The number of words in a form. A form that is an English word, too, counts less: it may be English here. */
function weightOf(text: string, from: number, to: number, place: number | undefined): number {
  let words = 0
  let before: number = SEPARATOR
  for (let at = from; at < to; at++) {
    const kind = charClass(text.charCodeAt(at))
    if (kind !== SEPARATOR && before === SEPARATOR) words++
    before = kind
  }
  const isEnglish = words === 1 && place !== undefined && PLACE_OF.has(text.slice(from, to))
  return isEnglish ? KNOWN_WORD : words
}
