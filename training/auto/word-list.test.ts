import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readForms, packForms } from './pack-words.ts'
import { lengthOf, longestForm, openWordList, type WordList } from '../../packages/auto/src/word-list.ts'

function listOf(text: string): WordList {
  const forms = readForms(text, 'xx')
  return openWordList(packForms(forms, new Map(forms.map(({ english }, number) => [english ?? '', number]))))
}

function foundIn(list: WordList, text: string, at = 0): string | null {
  const form = longestForm(list, text, at, text.length)
  return form < 0 ? null : text.slice(at, at + lengthOf(list, form))
}

const GERMAN = listOf('write\tschreib, schreiben\nwritten\tschriftlich*\nwhat\twas, was ist\nsummary\tzusammenfass*')

test('the longest word or phrase that a text begins with is found', () => {
  expect(foundIn(GERMAN, 'schreib mir')).toBe('schreib')
  expect(foundIn(GERMAN, 'schreiben wir')).toBe('schreiben')
  expect(foundIn(GERMAN, 'was ist das')).toBe('was ist')
  expect(foundIn(GERMAN, 'was kostet das')).toBe('was')
})

test('a word goes on only where its form says so', () => {
  expect(foundIn(GERMAN, 'schreibtisch')).toBeNull()
  expect(foundIn(GERMAN, 'schriftliches')).toBe('schriftlich')
  expect(foundIn(GERMAN, 'zusammenfassung')).toBe('zusammenfass')
})

test('Chinese is found anywhere, and the rest of a Korean word does not matter', () => {
  expect(foundIn(listOf('write\t写\narticle\t文章'), '请写文章', 1)).toBe('写')
  expect(foundIn(listOf('summary\t요약'), '요약해줘')).toBe('요약')
})

test('for any list and any text, the form found is the longest that fits', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '天', '가'), minLength: 1, maxLength: 5 })
  const form = fc.tuple(word, fc.boolean()).map(([text, mayContinue]) => text.trim() + (mayContinue ? '*' : ''))
  const isWord = (letter: string | undefined): boolean => letter !== undefined && 'abc'.includes(letter)
  fc.assert(
    fc.property(fc.array(form, { maxLength: 30 }), word, (written, text) => {
      const fits = written.filter((one) => {
        const letters = one.replace('*', '')
        const mayContinue = one !== letters || letters.endsWith('가')
        const ends = !isWord(letters.at(-1)) || !isWord(text[letters.length])
        return letters !== '' && text.startsWith(letters) && (mayContinue || ends)
      })
      const longest = Math.max(0, ...fits.map((one) => one.replace('*', '').length))
      expect(foundIn(listOf(`x\t${written.join(', ')}`), text)).toBe(longest > 0 ? text.slice(0, longest) : null)
    }),
    { numRuns: 1_000 },
  )
})
