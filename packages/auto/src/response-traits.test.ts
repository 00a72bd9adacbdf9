import { expect, test } from 'vitest'
import { RESPONSE_TRAIT_NAMES, responseTraits } from './response-traits.ts'

const traitsOf = (reply: string) => RESPONSE_TRAIT_NAMES.filter((_, index) => responseTraits(reply)[index] === 1)
const LONG = 'It grew out of a need that nobody had put into words before. '.repeat(10)

test.each([
  ['nothing at all', '', ['answer-short']],
  ['a word', 'Seven.', ['answer-any', 'answer-short']],
  ['a question back', 'Which of the two do you mean?', ['answer-any', 'answer-asks', 'answer-short']],
  ['a program', '```js\nlet a = 1\n```', ['answer-any', 'answer-code', 'answer-short']],
  ['a finding', 'Rates stand at 3.4% [1].', ['answer-any', 'answer-links', 'answer-short']],
  ['a derivation', 'Hence $a = 2$ and \\(n^2\\) is odd.', ['answer-any', 'answer-short', 'answer-notation']],
  ['an essay', LONG, ['answer-any', 'answer-long']],
  ['a list', `1. Boil them.\n2. ${LONG}`, ['answer-any', 'answer-long', 'answer-lists']],
])('a response is recognised by its form: %s', (_, reply, traits) => {
  expect(traitsOf(reply)).toEqual(traits)
})

test('only the beginning and the end of a very long response are read', () => {
  const hidden = `${LONG.repeat(10)}\n\`\`\`\ncode\n\`\`\`\n${LONG.repeat(10)}`
  expect(traitsOf(hidden)).toEqual(['answer-any', 'answer-long'])
  expect(traitsOf(`${LONG.repeat(10)} Shall I go on?`)).toContain('answer-asks')
})
