import { expect, test } from 'vitest'
import { foldText, wordEnd } from './fold-text.ts'
import { sentences } from './split-text.ts'
import { FUNCTION_WORDS } from './lexicon/function-words.ts'
import { functionWordsOf, likelyLanguages } from './detect-language.ts'

function languagesOf(raw: string): readonly string[] {
  const text = foldText(raw)
  return likelyLanguages(text, sentences(text)).languages
}

test.each([
  ['한국의 수도는 어디야?', 'ko'],
  ['東京の明日の天気は？', 'ja'],
  ['写一首关于秋天的诗', 'zh'],
  ['भारत की राजधानी क्या है?', 'hi'],
  ['พรุ่งนี้อากาศเป็นอย่างไร', 'th'],
])('the letters of %s identify its language, %s', (text, language) => {
  expect(languagesOf(text)).toEqual([language])
})

test('letters of two languages select both, and their words decide', () => {
  expect(languagesOf('Почему небо синее?')).toEqual(['ru', 'uk'])
  expect(languagesOf('ما هو الطقس اليوم؟')).toEqual(['ar', 'fa'])
})

test('English terms in a text of other letters do not make it English', () => {
  expect(languagesOf('帮我用 Python 写一个 quick sort')).toEqual(['zh'])
  expect(languagesOf('React 컴포넌트에서 state가 업데이트되지 않아요')).toEqual(['ko'])
})

test('a word of other letters in an English text does not make it another language', () => {
  expect(languagesOf('How do I pronounce the word 天気 when I speak to a friend in a shop?')).toEqual(['en'])
})

test.each([
  ['Kannst du mir bitte erklären, wie das mit der Steuer bei einem Umzug ist und was ich noch tun muss?', 'de'],
  ['¿Me puedes decir qué es lo que tengo que hacer para que no se me caduque el carné de conducir?', 'es'],
  ['Est-ce que tu peux me dire ce que je dois faire pour que mon chat ne mange pas les plantes ?', 'fr'],
  ['Você pode me dizer o que eu preciso fazer para não perder o meu voo na manhã do dia da viagem?', 'pt'],
  ['Kun je me vertellen wat ik moet doen om de kat van de buren niet meer in mijn tuin te zien?', 'nl'],
])('small words reveal the language of a longer text: %s', (text, language) => {
  expect(languagesOf(text)).toContain(language)
  expect(languagesOf(text)).not.toContain('en')
})

test('a longer English text is taken for nothing else', () => {
  expect(
    languagesOf('Could you tell me what I should do about the noise that my neighbour makes in the night?'),
  ).toEqual(['en'])
})

test('a brief text in Latin letters may be in any of their languages', () => {
  expect(languagesOf('Gedicht schreiben')).toEqual(expect.arrayContaining(['en', 'de', 'vi']))
})

test('small words are folded as texts are', () => {
  expect(functionWordsOf('pt')).toContain('nao')
  expect(functionWordsOf('ko')).toEqual([])
})

test('each small word is one word of a text, and stands once', () => {
  for (const language of Object.keys(FUNCTION_WORDS)) {
    const words = functionWordsOf(language)
    expect(words.filter((word) => wordEnd(word, 0, word.length) !== word.length)).toEqual([])
    expect(new Set(words).size).toBe(words.length)
  }
})

test('a longer text without function words counts as English', () => {
  expect(languagesOf('lista compras semana cena familia arroz verduras pollo huevos leche pan queso tomate')).toEqual([
    'en',
  ])
})
