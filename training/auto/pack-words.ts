/**
 * Lists of words of other languages, `words/<language>.txt`, as the classifier reads them. Each line has an English word,
 * a tab, and the forms that say it. A form that ends in `*` may go on; so may any Korean one. A language model wrote
 * the lists from its own knowledge.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { charClass, foldText, HANGUL } from '../../packages/auto/src/fold-text.ts'
import { functionWordsOf } from '../../packages/auto/src/detect-language.ts'
import type { WordsFile } from '../../packages/auto/src/translate.ts'
import { MAY_CONTINUE, NO_TRANSLATION, type WordListFile } from '../../packages/auto/src/word-list.ts'

const ENGLISH_FUNCTION_WORDS = new Set(functionWordsOf('en'))
const FOLDER = new URL('words/', import.meta.url)

interface Form {
  text: string
  mayContinue: boolean
  english: string | null
}

export function packWords(): WordsFile {
  const forms = new Map(
    readdirSync(FOLDER)
      .toSorted((one, other) => (one < other ? -1 : 1))
      .map((name) => {
        const language = name.replace('.txt', '')
        return [language, readForms(readFileSync(new URL(name, FOLDER), 'utf8'), language)]
      }),
  )
  const english = [...new Set([...forms.values()].flatMap((list) => list.flatMap((form) => form.english ?? [])))]
  const numberOf = new Map(english.map((word, number) => [word, number]))
  return {
    english: english.join(' '),
    lists: Object.fromEntries([...forms].map(([language, list]) => [language, packForms(list, numberOf)])),
  }
}

/**
 * The first English word of a form has it. The language's small words say small English words or nothing, because folding
 * makes them meet: Spanish "una" is no "uña".
 */
export function readForms(text: string, language: string): Form[] {
  const listed = text.split('\n').flatMap((line) => {
    const [english = '', forms = ''] = line.split('\t')
    return forms.split(',').map((form) => readForm(form, english))
  })
  // A letter alone is no word of a language: "in C" is English, too.
  const small = new Set(functionWordsOf(language).filter((word) => word.length > 1))
  const meant = listed.filter(({ text, english }) => !small.has(text) || ENGLISH_FUNCTION_WORDS.has(english ?? ''))
  const known = new Map<string, Form>()
  for (const form of [...meant, ...[...small].map((word) => readForm(word, null))]) {
    const key = `${form.text}/${form.mayContinue}`
    if (form.text !== '' && !known.has(key)) known.set(key, form)
  }
  return [...known.values()].toSorted(inOrder)
}

function readForm(form: string, english: string | null): Form {
  const folded = foldText(form.trim())
  const text = folded.replaceAll('*', '')
  const mayContinue = folded.endsWith('*') || charClass(text.charCodeAt(text.length - 1)) === HANGUL
  return { text, mayContinue, english }
}

/** By letters; of two alike, the one that may go on first. */
function inOrder(one: Form, other: Form): number {
  if (one.text !== other.text) return one.text < other.text ? -1 : 1
  return Number(other.mayContinue) - Number(one.mayContinue)
}

export function packForms(forms: readonly Form[], numberOf: ReadonlyMap<string, number>): WordListFile {
  const says = Uint16Array.from(forms, ({ english, mayContinue }) => {
    const number = english === null ? NO_TRANSLATION : (numberOf.get(english) ?? NO_TRANSLATION)
    return number | (mayContinue ? MAY_CONTINUE : 0)
  })
  return {
    forms: forms.map(({ text }) => `${text}\n`).join(''),
    says: Buffer.from(says.buffer).toString('base64'),
  }
}
