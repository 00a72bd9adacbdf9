import fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildTrie, descend, type PhraseTrie } from './phrase-trie.ts'

const ascending = (a: number, b: number) => a - b

/** The marks of the phrase itself, whole and open together. */
function marksOf(trie: PhraseTrie, text: string): number[] {
  let node = trie.first[text.charCodeAt(0)] ?? -1
  for (let at = 1; at < text.length && node >= 0; at++) node = descend(trie, node, text.charCodeAt(at))
  return node < 0 ? [] : [...(trie.complete[node] ?? []), ...(trie.open[node] ?? [])]
}

test('every inserted phrase is found with all its marks, and no other phrase is', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '天', ' '), minLength: 1, maxLength: 6 })
  const phrase = fc.record({ text, mark: fc.nat(9), open: fc.boolean() })
  fc.assert(
    fc.property(fc.array(phrase, { maxLength: 40 }), fc.array(text, { maxLength: 20 }), (phrases, others) => {
      const trie = buildTrie(phrases)
      for (const requested of [...phrases.map((one) => one.text), ...others]) {
        const expected = phrases.filter((one) => one.text === requested).map(({ mark }) => mark)
        expect(marksOf(trie, requested).toSorted(ascending)).toEqual(expected.toSorted(ascending))
      }
    }),
  )
})
