import { expect, test } from 'vitest'
import { countCues, type Cue, CUES, LEXICON_TRIE } from './find-cues.ts'
import { foldText } from './fold-text.ts'

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

test('a phrase with a star lets the word go on', () => {
  expect(cuesOf('Beweisen Sie den Satz')).toContain('proof')
})

test('Chinese and Japanese match inside running text, Korean with its particles, Hindi between spaces', () => {
  expect(cuesOf('请问今天北京天气怎么样')).toContain('weather')
  expect(cuesOf('Pythonで関数を書いて')).toContain('homonym')
  expect(cuesOf('내일 날씨가 궁금해요')).toContain('weather')
  expect(cuesOf('आज मौसम कैसा है')).toContain('weather')
})
