import { describe, expect, test } from 'vitest'
import { bearsUsage, chunkWithReceipt, dataOf, withReceipt } from './receipt-events.ts'

const event = (data: object, name?: string) =>
  Buffer.from(`${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`)

describe('the event with the counts of the whole response', () => {
  test.each<[string, Buffer, boolean]>([
    ['a chunk of chat with usage', event({ choices: [], usage: { prompt_tokens: 1 } }), true],
    ['a chunk of chat before it', event({ choices: [{ delta: { content: 'a' } }], usage: null }), false],
    ['a text that speaks of "usage"', event({ choices: [{ delta: { content: '"usage": {}' } }] }), false],
    ['the delta of a message', event({ type: 'message_delta', usage: { output_tokens: 1 } }, 'message_delta'), true],
    ['the start of a message', event({ type: 'message_start', message: { usage: { input_tokens: 1 } } }), false],
    ['a completed response', event({ response: { usage: { input_tokens: 1 } } }, 'response.completed'), true],
    ['a created response', event({ response: { usage: null } }, 'response.created'), false],
    ['an event that is no JSON', Buffer.from('data: "usage"\n\n'), false],
  ])('%s: %#', (_name, bytes, expected) => expect(bearsUsage(bytes)).toBe(expected))
})

test('a receipt is one more member, and all else of the event stays', () => {
  const carrier = event({ choices: [], usage: { total_tokens: 2 } }, 'chunk')
  const written = withReceipt(carrier, 'a.b.c')
  expect(dataOf(written)).toEqual({ ...dataOf(carrier), svc_receipt: 'a.b.c' })
  expect(written.toString().replace(',"svc_receipt":"a.b.c"', '')).toBe(carrier.toString())
})

test('a chunk that only brings the receipt looks like the chunk with the usage', () => {
  const chunk = chunkWithReceipt({ id: 'x', created: 1, model: 'm', choices: [{ delta: {} }], other: 1 }, 'a.b.c')
  expect(dataOf(chunk)).toEqual({
    ...{ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' },
    ...{ choices: [], svc_receipt: 'a.b.c' },
  })
})
