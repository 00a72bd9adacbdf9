/** A target gets the turns of a chat request without the members in which other vendors keep their state. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { choicesRequested } from './chat-chunk.ts'
import { withoutAlienStates } from './chat-state.ts'
import type { ChatStateForm } from './reasoning-state.ts'

const OF_FORM = { signatures: ['extra_content'], details: ['reasoning_details', 'reasoning'] }
const name = fc.constantFrom(...OF_FORM.signatures, ...OF_FORM.details, 'reasoning_content', 'content', 'n', 'n_cmpl')
const members = fc.dictionary(name, fc.oneof(fc.string(), fc.constantFrom('"reasoning":', '"n_cmpl"'), fc.nat()))

test('the model’s turns and their calls lose the members of each alien form, and all else stays', () => {
  const turn = fc.tuple(fc.constantFrom('assistant', 'user'), members, fc.array(members, { maxLength: 2 }))
  const forms = fc.subarray<ChatStateForm>(['signatures', 'details'])
  fc.assert(
    fc.property(fc.array(turn), members, forms, (turns, others, alien) => {
      const gone = alien.flatMap((form) => OF_FORM[form])
      const left = (object: object) => Object.fromEntries(Object.entries(object).filter(([key]) => !gone.includes(key)))
      const bodyOf = (own: (object: object) => object) => ({
        ...others,
        messages: turns.map(([role, said, calls]) => {
          const of = role === 'assistant' ? own : (object: object) => object
          return { role, ...of(said), tool_calls: calls.map(of) }
        }),
      })
      const body = Buffer.from(JSON.stringify(bodyOf((object) => object)))
      const written = withoutAlienStates(body, alien)
      expect(JSON.parse(written.toString())).toEqual(bodyOf(left))
      if (!gone.some((one) => body.includes(`"${one}":`))) expect(written).toBe(body)
    }),
  )
})

test('a request wants as many choices as the larger of its two numbers says', () => {
  const count = fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined })
  fc.assert(
    fc.property(count, count, fc.array(members), (n, n_cmpl, messages) => {
      expect(choicesRequested(Buffer.from(JSON.stringify({ n, n_cmpl, messages })))).toBe(Math.max(n ?? 1, n_cmpl ?? 1))
    }),
  )
})
