/**
 * The words and phrases of a language with their English translations. The forms are sorted, so a binary search finds the
 * longest one that a text begins with. That is the form before the text in that order, or a prefix of this form.
 */

import { endsWord } from './fold-text.ts'
import { unpackPairs } from './read-packed.ts'

/** `training/auto/write-words.ts` writes it. */
export interface WordListFile {
  /** Folded forms, each on a line. One that may go on stands before one of the same letters that may not. */
  forms: string
  /** Two bytes a form, the lower first, in base64: the number of its English word, and `MAY_CONTINUE`. */
  says: string
}

export interface WordList {
  letters: string
  /** By form: the start of its letters; one more entry after the last form. */
  starts: Uint32Array
  says: Uint16Array
  /** By form: the longest other form that is its prefix, or -1. */
  shorter: Int32Array
  /** By first letter: the first such form, and the one after the last. */
  ranges: ReadonlyMap<number, readonly [number, number]>
}

/** The bit of a form's two bytes that lets the word go on after it. */
export const MAY_CONTINUE = 0x8000
/** The number of a form that is known and has no translation by itself. */
export const NO_TRANSLATION = 0x7fff

export function openWordList({ forms, says }: WordListFile): WordList {
  const numbers = unpackPairs(says)
  const count = numbers.length
  const starts = new Uint32Array(count + 1)
  for (let form = 0; form < count; form++) starts[form + 1] = forms.indexOf('\n', starts[form]) + 1
  const list = {
    letters: forms,
    starts,
    says: numbers,
    shorter: new Int32Array(count).fill(-1),
    ranges: new Map<number, [number, number]>(),
  }
  for (let form = 0; form < count; form++) {
    const first = forms.charCodeAt(starts[form] ?? 0)
    const range = list.ranges.get(first)
    if (range) range[1] = form + 1
    else list.ranges.set(first, [form, form + 1])
    list.shorter[form] = longestBeginning(list, form)
  }
  return list
}

/** The longest form that the text has at `at`, or -1: a complete word, or one that may go on. */
export function longestForm(list: WordList, text: string, at: number, end: number): number {
  const range = list.ranges.get(text.charCodeAt(at))
  if (!range) return -1
  let [low, high] = range
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isAfter(list, middle, text, at, end)) high = middle
    else low = middle + 1
  }
  for (let form = low - 1; form >= 0; form = list.shorter[form] ?? -1)
    if (standsAt(list, form, text, at, end)) return form
  return -1
}

export function lengthOf({ starts }: WordList, form: number): number {
  return (starts[form + 1] ?? 0) - (starts[form] ?? 0) - 1
}

function longestBeginning(list: WordList, form: number): number {
  const { letters, starts, shorter } = list
  const from = starts[form] ?? 0
  const to = from + lengthOf(list, form)
  let other = form - 1
  while (other >= 0 && !begins(list, other, letters, from, to)) other = shorter[other] ?? -1
  return other
}

/** True where the form comes after the text in sorted order. */
function isAfter({ letters, starts }: WordList, form: number, text: string, at: number, end: number): boolean {
  const last = (starts[form + 1] ?? 0) - 1
  for (let letter = starts[form] ?? 0, next = at; letter < last; letter++, next++) {
    if (next >= end) return true
    const difference = letters.charCodeAt(letter) - text.charCodeAt(next)
    if (difference !== 0) return difference > 0
  }
  return false
}

function standsAt(list: WordList, form: number, text: string, at: number, end: number): boolean {
  if (!begins(list, form, text, at, end)) return false
  return ((list.says[form] ?? 0) & MAY_CONTINUE) !== 0 || endsWord(text, at + lengthOf(list, form), end)
}

function begins(list: WordList, form: number, text: string, at: number, end: number): boolean {
  const { letters, starts } = list
  const from = starts[form] ?? 0
  const length = lengthOf(list, form)
  if (at + length > end) return false
  for (let letter = 0; letter < length; letter++)
    if (letters.charCodeAt(from + letter) !== text.charCodeAt(at + letter)) return false
  return true
}
