import { expect, test } from 'vitest'
import { countLexicalFeatures, LEXICAL_FEATURES, LEXICON_TRIE } from '../../packages/auto/src/lexical-features.ts'
import { foldText } from '../../packages/auto/src/fold-text.ts'
import type { PhraseTrie } from '../../packages/auto/src/phrase-trie.ts'
import { lexiconWithout } from './fold-lexicon.ts'
import type { Prompt } from './prompts.ts'

const RARE = 'arrivederci'
const COMMON = 'weather'

function prompt(content: string): Prompt {
  return { id: content, messages: [{ role: 'user', content }], lane: 'bolt', also: [], source: '', lang: '' }
}

function lexicalFeaturesOf(lexicon: PhraseTrie, text: string): number {
  const counts = new Uint16Array(LEXICAL_FEATURES.length)
  const folded = foldText(text)
  countLexicalFeatures(lexicon, folded, 0, folded.length, counts)
  return counts.reduce((sum, count) => sum + count, 0)
}

test('a phrase that one source alone attests goes with the source', () => {
  const lexicon = lexiconWithout(
    'one',
    new Map([
      ['one', [prompt(RARE)]],
      ['other', [prompt('hello')]],
    ]),
    [],
  )
  expect(lexicalFeaturesOf(lexicon, RARE)).toBeLessThan(lexicalFeaturesOf(LEXICON_TRIE, RARE))
  expect(lexicalFeaturesOf(lexicon, COMMON)).toBe(lexicalFeaturesOf(LEXICON_TRIE, COMMON))
})

test('a phrase that another source or a training prompt attests stays', () => {
  const bySource = new Map([
    ['one', [prompt(RARE), prompt(COMMON)]],
    ['other', [prompt(RARE)]],
  ])
  const lexicon = lexiconWithout('one', bySource, [prompt(COMMON)])
  for (const text of [RARE, COMMON])
    expect(lexicalFeaturesOf(lexicon, text)).toBe(lexicalFeaturesOf(LEXICON_TRIE, text))
})
