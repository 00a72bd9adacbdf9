import { expect, test } from 'vitest'
import { countCues, type Cue, CUES, LEXICON_TRIE } from './find-cues.ts'
import { foldText } from './fold-text.ts'
import { MANY_WORDS } from './lexicon/many.ts'
import { PLACE_OF } from './vocabulary.ts'

/** The vocabulary is in the order of frequency. */
const ENGLISH_WORDS = 3_000

function cuesOf(text: string): Set<Cue> {
  const counts = new Uint16Array(CUES.length)
  const folded = foldText(text)
  countCues(LEXICON_TRIE, folded, 0, folded.length, counts)
  return new Set(CUES.filter((_, index) => counts[index] !== 0))
}

test('words match whole, so "nowhere" says nothing of now', () => {
  expect(cuesOf('he came from nowhere')).not.toContain('now')
  expect(cuesOf('where is he now')).toContain('now')
})

test('accents and case may be missing', () => {
  expect(cuesOf('QUE TIEMPO HARA MANANA')).toContain('weather')
  expect(cuesOf('¿Qué tiempo hará mañana?')).toContain('weather')
})

test('letters that no accent makes are made plain too', () => {
  expect(cuesOf('Wie heißt der Fluss?')).toContain('factWh')
  expect(cuesOf('đặt bàn cho bốn người')).toContain('place')
  expect(cuesOf('włącz światło')).toContain('device')
  expect(cuesOf('أين المتحف')).toContain('factWh')
})

test('what the other languages add belongs to known cues, and is no common English word', () => {
  const english = new Set([...PLACE_OF.keys()].slice(0, ENGLISH_WORDS))
  const shared = new Set(['restaurant', 'reserve', 'bus', 'super', 'perfect', 'brief', 'kim'])
  for (const [cue, list] of Object.entries(MANY_WORDS)) {
    expect(CUES).toContain(cue)
    const words = list.split('|').map((word) => word.trim())
    expect(words.filter((word) => word.length > 1 && english.has(word) && !shared.has(word))).toEqual([])
  }
})

test('a phrase with a star lets the word go on', () => {
  expect(cuesOf('Beweisen Sie den Satz')).toContain('proof')
})

test('Chinese, Japanese and Thai match inside running text, Korean with its particles, Hindi between spaces', () => {
  expect(cuesOf('请问今天北京天气怎么样')).toContain('weather')
  expect(cuesOf('Pythonで関数を書いて')).toContain('homonym')
  expect(cuesOf('내일 날씨가 궁금해요')).toContain('weather')
  expect(cuesOf('आज मौसम कैसा है')).toContain('weather')
  expect(cuesOf('พรุ่งนี้ฝนจะตกไหม')).toContain('weather')
})
