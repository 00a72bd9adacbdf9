/**
 * Some vendors refuse conversations whose turns stand in another order than their own. A client of the Messages or the
 * Responses API cannot know that order: the router writes it.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { goodChat } from '../http-backend.ts'
import { backend, router } from '../open.ts'
import { poolOver } from '../router-under-test.ts'
import type { OrderedMessage } from './fixture.ts'
import { FIXTURES, vendors } from './fixtures.ts'

const inOrder = vendors.filter((vendor) => FIXTURES[vendor].orderFault !== undefined)

const words = fc.constantFrom('Look it up', 'And now?', 'Go on')
const text = words.map((said) => ({ type: 'text', text: said }))

/** Turns of the Messages API: a result may stand beside the user's next words, as coding tools write it. */
const ofMessages = fc
  .array(
    fc.oneof(
      words.map((content) => [{ role: 'user', content }]),
      fc.tuple(words, words).map(([said, content]) => [
        { role: 'user', content },
        { role: 'assistant', content: said },
      ]),
      fc.tuple(words, fc.array(text, { maxLength: 2 })).map(([content, more]) => [
        { role: 'user', content },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '72' }, ...more] },
      ]),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((turns) => ({ messages: [...turns.flat(), { role: 'user', content: 'Answer' }], max_tokens: 100 }))

/** Items of the Responses API. */
const ofResponses = fc
  .array(
    fc.oneof(
      words.map((content) => [{ role: 'user', content }]),
      fc.tuple(words, words).map(([content, said]) => [
        { role: 'user', content },
        { role: 'assistant', content: said },
      ]),
      words.map((content) => [
        { role: 'user', content },
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: '72' },
      ]),
      words.map((content) => [{ role: 'developer', content }]),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((items) => ({ input: [...items.flat(), { role: 'user', content: 'Answer' }] }))

describe.each(inOrder)('%s', (vendor) => {
  test.each([
    ['messages', ofMessages],
    ['responses', ofResponses],
  ] as const)(
    'takes every conversation of a client of the %s API, and no word is lost',
    async (dialect, conversation) => {
      const { orderFault, standIn } = FIXTURES[vendor]
      const server = await backend(goodChat)
      const under = await router(
        poolOver([server.url], { backend: { vendor, apiKey: 'key' }, targets: [{ model: standIn.model }] }),
      )
      await fc.assert(
        fc.asyncProperty(conversation as fc.Arbitrary<object>, async (body) => {
          const { failure } = await under.sendRequest({ dialect }, body)
          expect(failure).toBeNull()
          const { messages } = server.seen.at(-1)!.body as unknown as { messages: OrderedMessage[] }
          expect({ fault: orderFault!(messages), messages }).toMatchObject({ fault: null })
          const sent = JSON.stringify(messages)
          for (const [, said] of JSON.stringify(body).matchAll(/"(Look it up|And now\?|Go on|Answer|72)"/g))
            expect(sent).toContain(said)
        }),
        { numRuns: 60 },
      )
    },
  )
})
