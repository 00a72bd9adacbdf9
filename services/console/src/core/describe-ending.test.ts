import { expect, test } from 'vitest'
import { describeEnding } from './describe-ending.ts'

test.each([
  [{ keys: 12, open_requests: 3 }, 'This ends 12 keys; 3 open requests are cut off.'],
  [{ keys: 1, open_requests: 1 }, 'This ends 1 key; 1 open request is cut off.'],
  [{ keys: 1_200, open_requests: 0 }, 'This ends 1,200 keys; no request is open.'],
  [{ keys: 2, open_requests: null }, 'This ends 2 keys; the number of open requests is not known now.'],
  [{ keys: 0, open_requests: 0 }, 'This ends no key.'],
])('a change states its effect in numbers: %j', (figures, sentence) => {
  expect(describeEnding(figures)).toBe(sentence)
})

test('a suspension has a word of its own', () => {
  expect(describeEnding({ keys: 2, open_requests: 0 }, 'suspends')).toBe('This suspends 2 keys; no request is open.')
})
