/** Every client's dialect but chat goes by way of chat. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { VENDOR_PROFILES } from '../vendors/index.ts'
import { dialectRoute } from './dialects.ts'

type Json = Record<string, unknown>

/** Members that vendors give to chat's messages and calls, and that any client may write anywhere. */
const alien = fc.dictionary(
  fc.constantFrom('extra_content', 'reasoning_details', 'reasoning', 'svc_state'),
  fc.oneof(fc.string(), fc.constant([]), fc.constant({ google: { thought_signature: 'x' } })),
)

/** The model's turn of a client, as a request. */
const REQUESTS: Record<'responses' | 'messages', (...members: Json[]) => Json> = {
  responses: (...[ofThought, ofCall, ofWords, ofPart]) => ({
    input: [
      { role: 'user', content: 'Hello' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'A thought.' }], ...ofThought },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}', ...ofCall },
      { type: 'function_call_output', call_id: 'call_1', output: 'seen' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Seen.', ...ofPart }], ...ofWords },
      { role: 'user', content: 'Go on' },
    ],
  }),
  messages: (...[ofThought, ofCall, ofWords, ofPart]) => ({
    max_tokens: 5,
    messages: [
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'A thought.', signature: 'svc_unsigned', ...ofThought },
          { type: 'tool_use', id: 'call_1', name: 'look', input: {}, ...ofCall },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'seen' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Seen.', ...ofPart }], ...ofWords },
      { role: 'user', content: 'Go on' },
    ],
  }),
}

test.each(['responses', 'messages'] as const)(
  'a target gets nothing but members of chat from the turns of a %s client, also where those hold more',
  (client) => {
    const sentFor = (...members: Json[]) =>
      dialectRoute(client, ['chat']).dialect.request({
        kind: 'chat',
        body: Buffer.from(JSON.stringify(REQUESTS[client](...members))),
        model: 'm1',
        stream: false,
        maxTokens: undefined,
        form: [],
        profile: VENDOR_PROFILES.deepseek,
        alienStates: ['signatures', 'details'],
      }).body
    const plain = sentFor().toString()
    expect(plain).toContain('Seen.')
    fc.assert(
      fc.property(fc.array(alien, { minLength: 4, maxLength: 4 }), (members) => {
        expect(sentFor(...members).toString()).toBe(plain)
      }),
    )
  },
)
