import { expect, test } from 'vitest'
import { readPacked } from '../../packages/auto/src/read-packed.ts'
import { WORD_IDS } from '../../packages/auto/src/vocabulary.ts'
import { FUNCTION_WORDS } from '../../packages/auto/src/lexicon/function-words.ts'
import { LANGUAGES_OF_LETTERS } from '../../packages/auto/src/detect-language.ts'
import { packWords, readForms } from './pack-words.ts'

test('the words that ship are those of the lists: after a change run training/auto/write-words.ts', () => {
  expect(readPacked('words.json.br')).toEqual(packWords())
})

test('every English word of the lists is one that the vocabulary knows', () => {
  const unknown = packWords()
    .english.split(' ')
    .filter((word) => !WORD_IDS.has(word))
  expect(unknown).toEqual([])
})

test('the first English word of a form has it', () => {
  const forms = readForms('thank\tdanke\nthanks\tDanke, danke sehr', 'xx')
  expect(forms.map(({ text, english }) => `${text}: ${english}`)).toEqual(['danke: thank', 'danke sehr: thanks'])
})

test('a small word of the language says a small English word or nothing', () => {
  const forms = readForms('nail\tuña, uñas\nif\tsi', 'es')
  const said = Object.fromEntries(forms.map(({ text, english }) => [text, english]))
  expect(said).toMatchObject({ una: null, unas: null, si: 'if', de: null })
})

test('a form that may go on stands before one of the same letters that may not', () => {
  const forms = readForms('under\tunter\nmaintenance\tunter*', 'xx')
  expect(forms.map(({ mayContinue, english }) => [mayContinue, english])).toEqual([
    [true, 'maintenance'],
    [false, 'under'],
  ])
})

test('each language that a text may be recognized as has a list, and each list is of such a language', () => {
  const reported = [
    ...Object.keys(FUNCTION_WORDS).filter((language) => language !== 'en'),
    ...LANGUAGES_OF_LETTERS.flat(),
  ]
  expect(Object.keys(packWords().lists).toSorted(inOrder)).toEqual([...new Set(reported)].toSorted(inOrder))
})

function inOrder(one: string, other: string): number {
  return one < other ? -1 : 1
}
