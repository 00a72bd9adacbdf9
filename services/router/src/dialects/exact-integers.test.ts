/**
 * A tool's arguments have ids of 64 bits, and its schema the bounds of an int64: whoever writes them anew keeps their digits.
 */

import { describe, expect, test } from 'vitest'
import { keepAccepted } from '../core/accepted-parameters.ts'
import { anthropic } from './anthropic.ts'
import type { Dialect } from './dialect.ts'
import { messagesFront } from './messages-to-chat.ts'
import { messages } from './messages.ts'
import { UNSIGNED } from './messages/unsigned.ts'
import { openai } from './openai.ts'
import { overChat } from './over-chat.ts'
import { responses } from './responses.ts'

const ID = '1234567890123456789'
const IDENTITY = { id: 'own', created: 1, model: 'of-the-target' }

const user = '{"role":"user","content":"Hi"}'
const schema = `{"type":"object","properties":{"id":{"type":"integer","maximum":${ID}}}}`
const ofMessages = (content: string) =>
  `{"max_tokens":9,"temperature":0.5,"messages":[${user},{"role":"assistant","content":[${content}]}]}`
const called = `{"type":"tool_use","id":"t","name":"a","input":{"id":${ID}}}`
const ofChat = `{"temperature":0.5,"messages":[${user},{"role":"assistant","tool_calls":[{"id":"t","type":"function","function":{"name":"a","arguments":"{\\"id\\":${ID}}"}}]}],"tools":[{"type":"function","function":{"name":"a","parameters":${schema}}}]}`

describe('a request', () => {
  test.each<[string, Dialect, string, number]>([
    ['of Messages, without a parameter', messages, ofMessages(called), 1],
    [
      'of Messages, without thoughts',
      messages,
      ofMessages(`{"type":"thinking","thinking":"Hm","signature":"${UNSIGNED}"},${called}`),
      1,
    ],
    ['of Messages as chat', overChat(messagesFront, openai), ofMessages(called), 1],
    ['of Messages as chat as Messages', overChat(messagesFront, anthropic), ofMessages(called), 1],
    ['of chat, without a parameter', openai, ofChat, 2],
    ['of chat as Messages', anthropic, ofChat, 2],
    [
      'of Responses, without lost thoughts',
      responses,
      `{"input":[{"type":"reasoning","summary":[]}],"tools":[${schema}]}`,
      1,
    ],
  ])('%s', (_, dialect, asked, times) => {
    const form = [{ parameter: 'temperature' }] as const
    const question = {
      kind: 'chat',
      body: Buffer.from(asked),
      model: 'm',
      stream: false,
      maxTokens: undefined,
      form,
    } as const
    expect(dialect.request(question).body.toString().split(ID)).toHaveLength(times + 1)
  })

  test('without members that its target ignores', () => {
    const { body } = keepAccepted(Buffer.from(`{"a":1,"tools":[${schema}]}`), new Set(['tools']))
    expect(Buffer.from(body).toString()).toBe(`{"tools":[${schema}]}`)
  })
})

describe('an answer', () => {
  const message = `{"type":"message","content":[${called}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`
  const completion = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"t","type":"function","function":{"name":"a","arguments":"{\\"id\\":${ID}}"}}]},"finish_reason":"tool_calls"}]}`

  test.each<[string, Dialect, string]>([
    ['of Messages without a name', messages, message],
    ['of Messages as chat', anthropic, message],
    ['of chat as Messages', overChat(messagesFront, openai), completion],
  ])('%s', (_, dialect, told) => {
    expect(dialect.readAnswer('chat', Buffer.from(told), IDENTITY, {}).bytes.toString()).toContain(ID)
  })
})
