import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldText } from './fold-text.ts'
import { sentences } from './split-text.ts'
import { translate } from './translate.ts'
import { PLACE_OF } from './vocabulary.ts'

/** By sentence, its words in English. */
function saidIn(raw: string): string[] | null {
  const text = foldText(raw)
  const words = [...PLACE_OF.keys()]
  return translate(text, sentences(text))?.map((places) => places.map((place) => words[place]).join(' ')) ?? null
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
])('%s says %s', (text, said) => {
  expect(saidIn(text)?.join(' / ')).toMatch(said)
})

test('each sentence keeps its own words', () => {
  expect(saidIn('Ich habe ein Problem mit meinem Auto. Was kostet eine Reparatur?')).toMatchObject({ length: 2 })
})

test('a term that the language borrows from English stands for itself', () => {
  expect(saidIn('帮我用 python 写一个快速排序')?.join(' ')).toContain('python')
})

test('English is left as it is, and so is a text that nobody can read', () => {
  expect(saidIn('What is the capital of France?')).toBeNull()
  expect(saidIn('Write me a poem about autumn')).toBeNull()
  expect(saidIn('qwrtp zxcvb')).toBeNull()
  expect(saidIn('?!')).toBeNull()
})

test('whatever the text, each sentence gets a list of known words', () => {
  const known = new Set(PLACE_OF.values())
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (raw) => {
      const text = foldText(raw)
      const spans = sentences(text)
      const said = translate(text, spans)
      expect(said === null || said.length === spans.length).toBe(true)
      expect(said?.flat().every((place) => known.has(place)) ?? true).toBe(true)
    }),
  )
})
