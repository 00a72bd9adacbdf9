import { expect, test } from 'vitest'
import { readPacked } from '../src/read-packed.ts'
import { PLACE_OF } from '../src/vocabulary.ts'
import { packWords, readForms } from './pack-words.ts'

test('the words that ship are those of the lists: after a change run npm run auto:train', () => {
  expect(readPacked('words.json.br')).toEqual(packWords())
})

test('every English word of the lists is one that the vocabulary knows', () => {
  const unknown = packWords()
    .english.split(' ')
    .filter((word) => !PLACE_OF.has(word))
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
  expect(forms.map(({ goesOn, english }) => [goesOn, english])).toEqual([
    [true, 'maintenance'],
    [false, 'under'],
  ])
})
