import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldText } from './fold-text.ts'
import { sentences } from './split-text.ts'
import { translate } from './translate.ts'
import { WORD_IDS } from './vocabulary.ts'

/** By sentence, its words in English. */
function saidIn(raw: string): string[] | null {
  const text = foldText(raw)
  const words = [...WORD_IDS.keys()]
  return translate(text, sentences(text))?.map((wordIds) => wordIds.map((wordId) => words[wordId]).join(' ')) ?? null
}

test.each([
  ['Schreib mir bitte ein Gedicht über den Herbst', /write .*please .*poem .*(fall|autumn)/],
  ['写一首关于秋天的诗', /write .*(fall|autumn).* poem/],
  ['東京の明日の天気は？', /tokyo .*tomorrow .*weather/],
  ['이 문장을 영어로 번역해줘', /sentence .*translate/],
  ['Escribe una función en Python que ordene una lista', /function python list/],
  ['Напиши стихотворение про осень', /write .*poem .*(fall|autumn)/],
  ['thời tiết Hà Nội hôm nay', /weather hanoi today/],
  ['bugün hava nasıl', /today weather/],
])('%s says %s', (text, translated) => {
  expect(saidIn(text)?.join(' / ')).toMatch(translated)
})

test('each sentence keeps its own words', () => {
  expect(saidIn('Ich habe ein Problem mit meinem Auto. Was kostet eine Reparatur?')).toMatchObject({ length: 2 })
})

test('a term that the language borrows from English stands for itself', () => {
  expect(saidIn('帮我用 python 写一个快速排序')?.join(' ')).toContain('python')
})

test.each([
  'hello world in C',
  'Fibonacci in C',
  'Vitamin D in winter',
  'USB C or D',
  'E in maths',
  'more',
  'python list comprehension',
  'sort array numpy',
  'start a timer',
  'name idea cat',
  'Western',
  "Don't know, it's fine, I'm ok",
  "What's John's d.o.b.? It's on s.t.",
])('brief English is taken for no other language: %s', (text) => {
  expect(saidIn(text)).toBeNull()
})

test.each([
  ['Gedicht schreiben', 'poem write'],
  ['danke dir', 'thank'],
  ['receta paella', 'recipe'],
  ['quel temps fait-il demain', 'weather tomorrow'],
  ['vad blir det för väder', 'what weather'],
  ['Mikä on Suomen pääkaupunki', 'what finland capital'],
  ['пʼять', 'five'],
])('brief text in another language is read: %s', (text, translated) => {
  expect(saidIn(text)).toEqual([translated])
})

test('English is left as it is, and so is a text in no known language', () => {
  expect(saidIn('What is the capital of France?')).toBeNull()
  expect(saidIn('Write me a poem about autumn')).toBeNull()
  expect(saidIn('qwrtp zxcvb')).toBeNull()
  expect(saidIn('?!')).toBeNull()
})

test('every sentence of every text gets a list of known words', () => {
  const known = new Set(WORD_IDS.values())
  const word = fc.constantFrom(
    '写',
    '天気',
    '요약해줘',
    'Gedicht',
    'weißt',
    'Напиши',
    'شعر',
    'कविता',
    'อากาศ',
    'C',
    '7',
    'is',
  )
  const odd = fc.string({ unit: 'binary', maxLength: 8 })
  const separator = fc.constantFrom(' ', '. ', '\n', '', "'", '？')
  const raws = fc.array(fc.tuple(fc.oneof(word, odd), separator), { maxLength: 30 }).map((list) => list.flat().join(''))
  let translatedTexts = 0
  fc.assert(
    fc.property(raws, (raw) => {
      const text = foldText(raw)
      const spans = sentences(text)
      const translated = translate(text, spans)
      if (translated?.some((wordIds) => wordIds.length > 0)) translatedTexts++
      expect(translated === null || translated.length === spans.length).toBe(true)
      expect(translated?.flat().every((wordId) => known.has(wordId)) ?? true).toBe(true)
    }),
    { numRuns: 300 },
  )
  expect(translatedTexts).toBeGreaterThan(30)
})
