/**
 * The lexicon as it would be if nobody had seen a source: without the phrases that this source alone attests. The
 * prompts that the network learnt from hold none of those, so the trained network is the same with and without them.
 */

import { countLexicalFeatures, LEXICON_TRIE, PHRASES } from '../../packages/auto/src/lexical-features.ts'
import { foldText } from '../../packages/auto/src/fold-text.ts'
import { buildTrie, type PhraseTrie } from '../../packages/auto/src/phrase-trie.ts'
import { readTurns } from '../../packages/auto/src/read-text.ts'
import type { Prompt } from './prompts.ts'

const BY_PHRASE = buildTrie(PHRASES.map((phrase, mark) => ({ ...phrase, mark })))

/** The phrases that each list of prompts attests; the same list is read once. */
const known = new WeakMap<readonly Prompt[], Set<number>>()

export function lexiconWithout(
  source: string,
  bySource: ReadonlyMap<string, readonly Prompt[]>,
  learnt: readonly Prompt[],
): PhraseTrie {
  const here = attested(bySource.get(source) ?? [])
  const elsewhere = [learnt, ...[...bySource].filter(([name]) => name !== source).map(([, prompts]) => prompts)].map(
    attested,
  )
  const kept = PHRASES.filter((_, mark) => !here.has(mark) || elsewhere.some((marks) => marks.has(mark)))
  return kept.length === PHRASES.length ? LEXICON_TRIE : buildTrie(kept)
}

function attested(prompts: readonly Prompt[]): Set<number> {
  const done = known.get(prompts)
  if (done) return done
  const marks: number[] = []
  const counts = new Uint16Array(PHRASES.length)
  const seen = new Set<number>()
  for (const { messages } of prompts) {
    const { last, before } = readTurns(messages)
    for (const text of [foldText(last), foldText(before)])
      countLexicalFeatures(BY_PHRASE, text, 0, text.length, counts, marks)
    for (const mark of marks.splice(0)) seen.add(mark)
  }
  known.set(prompts, seen)
  return seen
}
