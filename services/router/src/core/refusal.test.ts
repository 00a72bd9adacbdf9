import fc from 'fast-check'
import { clientDialects } from '@gateway/contracts/vendors'
import { describe, expect, test } from 'vitest'
import { refusalOf } from './refusal.ts'

const bodyOf = (error: unknown) => JSON.stringify({ error })

test('a target’s sentence, code, type and parameter come through as they are', () => {
  const error = { message: 'temperature is too high', type: 'invalid_request_error', param: 'temperature', code: 'bad' }
  for (const dialect of clientDialects) expect(refusalOf(dialect, bodyOf(error))).toEqual(error)
})

describe('where the target says less, the words that clients can rely on', () => {
  test.each([
    ['a status for a code', bodyOf({ message: 'no', code: 400, type: null })],
    ['a flat body', JSON.stringify({ error: 'no' })],
    ['no words that it may say', bodyOf({ message: 'no', code: 'a code with spaces', type: '', param: 7 })],
  ])('%s', (_, body) => {
    const refusal = { message: 'no', code: 'invalid_request_error', type: 'invalid_request_error', param: null }
    expect(refusalOf('chat', body)).toEqual(refusal)
  })

  test('no body that could be read', () => {
    expect(refusalOf('chat', undefined)).toMatchObject({ message: 'The backend refused the request' })
  })
})

test('a response that does not fit beside its prompt keeps Anthropic’s words, by which Claude Code requests a shorter one', () => {
  const message = 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'
  const body = bodyOf({ message, type: 'invalid_request_error' })
  expect(refusalOf('messages', body).message).toBe(message)
  expect(refusalOf('chat', body)).toMatchObject({ code: 'context_length_exceeded' })
})

/** Anything that a backend may write. */
const said = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.constant(null),
  fc.constantFrom('context_length_exceeded', 'prompt is too long', 'content_filter', 'Input was flagged', '__proto__'),
)

test('each refusal gives the client a sentence, a code and a type, and each sentence of the target is whole', () => {
  const error = fc.record({ message: said, code: said, type: said, param: said, status: said }, { requiredKeys: [] })
  const body = fc.oneof(error.map(bodyOf), fc.json(), said.map(bodyOf), fc.string())
  fc.assert(
    fc.property(fc.constantFrom(...clientDialects), body, (dialect, text) => {
      const refusal = refusalOf(dialect, text)
      expect(refusal.message).not.toBe('')
      expect(refusal.code).toMatch(/^[A-Za-z][\w.-]{0,99}$/)
      expect(refusal.type).toMatch(/^[A-Za-z][\w.-]{0,99}$/)
      expect(refusal.param === null || typeof refusal.param === 'string').toBe(true)
      const isTooLong = refusal.code === 'context_length_exceeded'
      if (isTooLong && dialect !== 'messages') expect(refusal.message).toContain('prompt is too long')
    }),
    { seed: 21, numRuns: 2_000 },
  )
})

test('a refusal reads the same in one dialect as in another, but for the phrases that each one’s clients look for', () => {
  fc.assert(
    fc.property(fc.record({ message: fc.string({ minLength: 1 }), code: said, type: said, param: said }), (error) => {
      const { message: _, ...chat } = refusalOf('chat', bodyOf(error))
      const { message: reported, ...messages } = refusalOf('messages', bodyOf(error))
      expect(messages).toEqual(chat)
      expect(reported).toContain(error.message)
    }),
    { seed: 22, numRuns: 1_000 },
  )
})
