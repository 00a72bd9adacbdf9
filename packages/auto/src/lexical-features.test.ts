import { expect, test } from 'vitest'
import { countLexicalFeatures, type LexicalFeature, LEXICAL_FEATURES, LEXICON_TRIE } from './lexical-features.ts'
import { foldText } from './fold-text.ts'
import { MANY_WORDS } from './lexicon/many.ts'
import { WORD_IDS } from './vocabulary.ts'

/** The vocabulary is in the order of frequency. */
const ENGLISH_WORDS = 3_000

function lexicalFeaturesOf(text: string): Set<LexicalFeature> {
  const counts = new Uint16Array(LEXICAL_FEATURES.length)
  const folded = foldText(text)
  countLexicalFeatures(LEXICON_TRIE, folded, 0, folded.length, counts)
  return new Set(LEXICAL_FEATURES.filter((_, index) => counts[index] !== 0))
}

test('only complete words match, so "nowhere" does not contain "now"', () => {
  expect(lexicalFeaturesOf('he came from nowhere')).not.toContain('now')
  expect(lexicalFeaturesOf('where is he now')).toContain('now')
})

test('accents and case may be missing', () => {
  expect(lexicalFeaturesOf('QUE TIEMPO HARA MANANA')).toContain('weather')
  expect(lexicalFeaturesOf('¿Qué tiempo hará mañana?')).toContain('weather')
})

test('letters that no accent makes are folded, too', () => {
  expect(lexicalFeaturesOf('Wie heißt der Fluss?')).toContain('factWh')
  expect(lexicalFeaturesOf('đặt bàn cho bốn người')).toContain('place')
  expect(lexicalFeaturesOf('włącz światło')).toContain('device')
  expect(lexicalFeaturesOf('أين المتحف')).toContain('factWh')
})

test('the words of the other languages belong to known features, and none is a common English word', () => {
  const english = new Set([...WORD_IDS.keys()].slice(0, ENGLISH_WORDS))
  const shared = new Set(['restaurant', 'reserve', 'bus', 'super', 'perfect', 'brief', 'kim'])
  for (const [lexicalFeature, list] of Object.entries(MANY_WORDS)) {
    expect(LEXICAL_FEATURES).toContain(lexicalFeature)
    const words = list.split('|').map((word) => word.trim())
    expect(words.filter((word) => word.length > 1 && english.has(word) && !shared.has(word))).toEqual([])
  }
})

test('a phrase with a star lets the word go on', () => {
  expect(lexicalFeaturesOf('Beweisen Sie den Satz')).toContain('proof')
})

test('Chinese, Japanese and Thai match inside running text, Korean with its particles, Hindi between spaces', () => {
  expect(lexicalFeaturesOf('请问今天北京天气怎么样')).toContain('weather')
  expect(lexicalFeaturesOf('Pythonで関数を書いて')).toContain('homonym')
  expect(lexicalFeaturesOf('내일 날씨가 궁금해요')).toContain('weather')
  expect(lexicalFeaturesOf('आज मौसम कैसा है')).toContain('weather')
  expect(lexicalFeaturesOf('พรุ่งนี้ฝนจะตกไหม')).toContain('weather')
})
