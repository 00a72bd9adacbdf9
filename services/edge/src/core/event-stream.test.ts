import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '@gateway/contracts/errors'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { findEvents } from '@gateway/sse/complete-events'
import { faultsIn, openEvent } from '@gateway/testing/open-responses'
import { streamForm, terminalEventOf } from './event-stream.ts'

const error = new GatewayError('UPSTREAMS_EXHAUSTED', 'The backend broke off')
const eventOf = (name: string, data: object) => Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)

/** Name and JSON of one event. */
function read(event: string): [string | undefined, unknown] {
  const [, name] = /^event: (.*)$/m.exec(event) ?? []
  return [name, JSON.parse(/^data: (.*)$/m.exec(event)![1]!)]
}

describe('a failure after the beginning', () => {
  test('of a chat is an event with an error member', () => {
    const said = { message: error.message, type: 'server_error', code: error.code }
    expect(read(streamForm('chat', 'req-1').failure(error))).toEqual([undefined, { error: said }])
  })

  test('of a message is an error event in Anthropic’s shape', () => {
    const said = { type: 'overloaded_error', message: error.message, code: error.code }
    expect(read(streamForm('messages', 'req-1').failure(error))).toEqual([
      'error',
      { type: 'error', error: said, request_id: 'req-1' },
    ])
  })

  const created = { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', status: 'in_progress' } }

  test('of a response is the response, failed, under the next number', () => {
    const form = streamForm('responses', 'req-1')
    form.note!(
      Buffer.concat([eventOf('response.created', created), eventOf('response.in_progress', { sequence_number: 1 })]),
    )
    const delta = 'a "sequence_number": 9 and\n\nan empty line'
    form.note!(eventOf('response.output_text.delta', { sequence_number: 2, delta }))
    expect(read(form.failure(error))).toEqual([
      'response.failed',
      {
        type: 'response.failed',
        sequence_number: 3,
        response: { id: 'resp_1', status: 'failed', error: { code: error.code, message: error.message } },
      },
    ])
  })

  test('of a response has the number after that of the last event that has one, as its JSON says it', () => {
    const number = fc.option(fc.nat(), { nil: undefined })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(number, fc.string()), { minLength: 1 }),
        fc.constantFrom(0, 1),
        (events, spaces) => {
          const form = streamForm('responses', 'req-1')
          for (const [sequence_number, delta] of [[0, ''] as const, ...events]) {
            const data = JSON.stringify({ sequence_number, delta }).replace(':', ':' + ' '.repeat(spaces))
            form.note!(Buffer.from(`event: response.output_text.delta\ndata: ${data}\n\n`))
          }
          const last = events.findLast(([sequence]) => sequence !== undefined)?.[0] ?? 0
          expect(read(form.failure(error))[1]).toMatchObject({ sequence_number: last + 1 })
        },
      ),
    )
  })

  test('of a response has its own number, also where the response holds another one of the same name', () => {
    const place = fc.constantFrom('first', 'last')
    const held = fc.oneof(fc.nat(), fc.string(), fc.record({ type: fc.constant('integer') }), fc.constant([]))
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.string(), place, held, (earlier, number, words, where, held) => {
        const form = streamForm('responses', 'req-1')
        const named = { sequence_number: number }
        const response = { instructions: words, tools: [{ parameters: { properties: { sequence_number: held } } }] }
        // A number of the same name in front of the event's own looks like it.
        const isFirst = where === 'first' || typeof held === 'number'
        const data = isFirst ? { ...named, response } : { response, ...named }
        form.note!(
          Buffer.concat([eventOf('response.queued', { sequence_number: earlier }), eventOf('response.created', data)]),
        )
        expect(read(form.failure(error))[1]).toMatchObject({ sequence_number: number + 1 })
      }),
    )
  })

  test('of a response reads the events of a backend that ends its lines with CRLF', () => {
    const form = streamForm('responses', 'req-1')
    form.note!(Buffer.from(eventOf('response.created', created).toString().replaceAll('\n', '\r\n')))
    expect(read(form.failure(error))).toMatchObject(['response.failed', { sequence_number: 1 }])
  })

  test('of a response that has not begun is an error event, in OpenAI’s types and in Open Responses’ form', () => {
    const said = { code: error.code, message: error.message, param: null }
    const nested = { type: 'server_error', ...said }
    expect(read(streamForm('responses', 'req-1').failure(error))).toEqual([
      'error',
      { type: 'error', sequence_number: 0, ...said, error: nested },
    ])
  })

  test('of a response keeps Open Responses, as the response that began does', () => {
    const response = {
      ...{ id: 'resp_1', object: 'response', created_at: 1, completed_at: null, status: 'in_progress', model: 'm' },
      ...{
        incomplete_details: null,
        previous_response_id: null,
        instructions: null,
        output: [],
        error: null,
        tools: [],
      },
      ...{ tool_choice: 'auto', truncation: 'disabled', parallel_tool_calls: true, text: { format: { type: 'text' } } },
      ...{ top_p: 1, presence_penalty: 0, frequency_penalty: 0, top_logprobs: 0, temperature: 1, reasoning: null },
      ...{ usage: null, max_output_tokens: null, max_tool_calls: null, store: false, background: false, metadata: {} },
      ...{ service_tier: 'default', safety_identifier: null, prompt_cache_key: null },
    }
    const begun = streamForm('responses', 'req-1')
    begun.note!(eventOf('response.created', { type: 'response.created', sequence_number: 0, response }))
    for (const form of [begun, streamForm('responses', 'req-1')]) {
      const [name, event] = read(form.failure(error))
      expect(faultsIn(String(name), openEvent, event)).toEqual([])
    }
  })

  test.each(['chat', 'responses', 'messages'] as const)('of %s never looks like a good end', (dialect) => {
    const form = streamForm(dialect, 'req-1')
    form.note?.(eventOf('response.created', created))
    expect(form.failure(error)).not.toContain('[DONE]')
  })
})

describe('the terminal event', () => {
  const endsIn = (dialect: ClientDialect, events: Buffer) =>
    terminalEventOf(dialect)!(events, findEvents(events).lastAt)

  test('of a chat is the edge’s to write', () => {
    expect(terminalEventOf('chat')).toBeUndefined()
    expect(streamForm('chat', 'req-1').done).toBe('data: [DONE]\n\n')
  })

  test('of a response is followed by the end that Open Responses demands', () => {
    expect(streamForm('responses', 'req-1').done).toBe('data: [DONE]\n\n')
    expect(streamForm('messages', 'req-1').done).toBe('')
  })

  const names = {
    messages: ['message_stop'],
    responses: ['response.completed', 'response.incomplete'],
  } as const
  const others = [
    'message_delta',
    'content_block_delta',
    'response.output_text.delta',
    'response.completed.not',
    'ping',
  ]

  test('is found wherever events are cut, and nothing else is taken for it', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('event: message_stop', '\nevent: response.completed\n'))
    const data = fc.record({ type: fc.string(), text })
    const before = fc.array(fc.tuple(fc.constantFrom(...others), data))
    const dialect = fc.constantFrom('messages' as const, 'responses' as const)
    fc.assert(
      fc.property(dialect, before, data, fc.nat(), (of, events, last, pick) => {
        const bytes = Buffer.concat(events.map(([name, json]) => eventOf(name, json)))
        expect(endsIn(of, bytes)).toBe(false)
        const ended = Buffer.concat([bytes, eventOf(names[of][pick % names[of].length]!, last)])
        expect(endsIn(of, ended)).toBe(true)
        expect(findEvents(ended).lastAt).toBe(bytes.length)
      }),
    )
  })

  test('is found behind events whose lines end with CRLF', () => {
    const before = Buffer.from('event: ping\r\ndata: {}\r\n\r\n')
    expect(endsIn('messages', Buffer.concat([before, eventOf('message_stop', {})]))).toBe(true)
  })
})
