/**
 * Strict clients of chat know OpenAI's finish reasons alone, and act on tool calls where the reason says so.
 */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSseParser } from '@gateway/sse/parse-events'
import { chatToMessages } from './chat-to-messages.ts'
import { chatToChat } from './chat-to-chat.ts'
import { meaningsOf } from '../vendors/meanings.ts'
import { plain as unknownServer } from '../vendors/plain.ts'

const { finishReasons } = meaningsOf(unknownServer)
const IDENTITY = { id: 'chatcmpl-own', created: 1, model: 'm', finishReasons }
const NAME = { id: 'chatcmpl-1', created: 1, model: 'm' }
const CALL = { index: 0, id: 't', type: 'function', function: { name: 'f', arguments: '{}' } }

interface Choice {
  finish_reason: string | null
}

function plain(reason: unknown, hasCalls: boolean): unknown {
  const message = { role: 'assistant', content: hasCalls ? null : 'Hi', ...(hasCalls ? { tool_calls: [CALL] } : {}) }
  const choices = [{ index: 0, message, finish_reason: reason }]
  const bytes = Buffer.from(JSON.stringify({ ...NAME, object: 'chat.completion', choices }))
  const { choices: read } = JSON.parse(chatToChat.readBackendResponse('chat', bytes, IDENTITY).bytes.toString()) as {
    choices: Choice[]
  }
  return read[0]!.finish_reason
}

function streamed(reason: unknown, hasCalls: boolean): unknown {
  const reading = chatToChat.readStream({ includeUsage: false, choices: 1, identity: IDENTITY })
  const chunk = (delta: object, finish: unknown) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    return `data: ${JSON.stringify({ ...NAME, object: 'chat.completion.chunk', choices })}\n\n`
  }
  const bytes = chunk(hasCalls ? { tool_calls: [CALL] } : { content: 'Hi' }, null) + chunk({}, reason)
  const read = createSseParser()
    .push(Buffer.from(bytes))
    .map((event) => reading.read(event)!)
  const events = createSseParser().push(Buffer.concat(read))
  const chunks = events.map(({ data }) => JSON.parse(data) as { choices: Choice[] })
  return chunks.at(-1)!.choices[0]!.finish_reason
}

test.each([
  ['model_length', false, 'length'],
  ['MAX_TOKENS', false, 'length'],
  ['SAFETY', false, 'content_filter'],
  ['content_filter: RECITATION', false, 'content_filter'],
  ['eos', false, 'stop'],
  ['eos_token', true, 'tool_calls'],
  ['stop', true, 'tool_calls'],
  ['length', true, 'length'],
  ['stop', false, 'stop'],
])('an end by %s, beside calls: %s, is reported as %s', (reason, hasCalls, reported) => {
  expect([plain(reason, hasCalls), streamed(reason, hasCalls)]).toEqual([reported, reported])
})

test('every end is one of OpenAI’s words, and a stream reports the same end as a plain response', () => {
  const words = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']
  const others = fc.constantFrom(
    'model_length',
    'end_turn',
    'STOP',
    'tool_use',
    'constructor',
    '__proto__',
    'eos',
    'pause',
  )
  // By these a response has failed.
  const reason = fc.oneof(fc.constantFrom(...words), others, fc.string({ minLength: 1 })).filter((word) => {
    return !['error', 'abort', 'insufficient_system_resource'].includes(word)
  })
  fc.assert(
    fc.property(reason, fc.boolean(), (given, hasCalls) => {
      const reported = plain(given, hasCalls)
      expect(words).toContain(reported)
      expect(streamed(given, hasCalls)).toBe(reported)
      if (hasCalls) expect(reported).not.toBe('stop')
    }),
  )
})

test('a backend of messages that ends a call by end_turn has called a tool', () => {
  const content = [{ type: 'tool_use', id: 't', name: 'f', input: {} }]
  const message = { type: 'message', id: 'msg_1', role: 'assistant', model: 'm', content, stop_reason: 'end_turn' }
  const { json } = chatToMessages.readBackendResponse('chat', Buffer.from(JSON.stringify(message)), IDENTITY, undefined)
  expect(json.choices).toMatchObject([{ finish_reason: 'tool_calls' }])
})
