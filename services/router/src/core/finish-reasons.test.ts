import { expect, test } from 'vitest'
import { endingOf } from './finish-reasons.ts'
import { meaningsOf } from '../vendors/meanings.ts'
import { plain } from '../vendors/plain.ts'

test.each([
  ['stop', 'stop'],
  ['eos', 'stop'],
  [null, 'stop'],
  ['length', 'length'],
  ['model_length', 'length'],
  ['MAX_TOKENS', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['content_filter: RECITATION', 'content_filter'],
  ['SAFETY', 'content_filter'],
  ['constructor', 'stop'],
])('%s is an end by %s', (reason, ending) => {
  expect(endingOf(reason, meaningsOf(plain).finishReasons)).toBe(ending)
})
