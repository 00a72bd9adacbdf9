import fc from 'fast-check'
import { expect, test } from 'vitest'
import { messagesForAuto, readTurns } from './read-text.ts'

const text = fc.oneof(fc.string({ maxLength: 50 }), fc.string({ minLength: 1_300, maxLength: 1_500 }))
const content = fc.oneof(
  text,
  fc.constant(null),
  fc.array(
    fc.oneof(
      text.map((words) => ({ type: 'text', text: words })),
      fc.constant({ type: 'image_url' }),
    ),
  ),
)
const role = fc.constantFrom('system' as const, 'user' as const, 'user' as const, 'assistant' as const, 'tool' as const)

test('the few messages that are kept read the same as the whole conversation', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ role, content }), { maxLength: 12 }), (messages) => {
      const kept = messagesForAuto(messages)
      expect(kept.length).toBeLessThanOrEqual(4)
      expect(readTurns(kept)).toEqual(readTurns(messages))
    }),
  )
})
