/**
 * The Messages API on both sides: the gateway changes no byte, and reads along.
 */

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '@gateway/contracts/json'
import { createSseParser } from '@gateway/sse/parse-events'
import type { ParameterSupport } from '../core/parameter-support.ts'
import { messagesToMessages } from './messages-to-messages.ts'
import { UNSIGNED } from './messages-to-messages/unsigned.ts'

const IDENTITY = { id: 'msg_own', created: 1, model: 'of-the-target' }

function requestOf(body: string, form: ParameterSupport = [], stream = true) {
  const clientRequest = { kind: 'chat', body: Buffer.from(body), model: 'claude', maxTokens: undefined } as const
  return messagesToMessages.request({ ...clientRequest, stream, form })
}

describe('a request', () => {
  test('is the client’s own text behind the members that the router writes', () => {
    fc.assert(
      fc.property(
        fc.object({ maxDepth: 4 }),
        fc.boolean(),
        fc.constantFrom(undefined, 2),
        (requested, stream, indent) => {
          const own = JSON.stringify(requested, null, indent)
          fc.pre(!own.includes(UNSIGNED))
          const { path, body, dropped } = requestOf(own, [], stream)
          const adapter = `{"model":"claude"${stream ? ',"stream":true' : ''}`
          const rest = own.slice(1).trimStart() === '}' ? own.slice(1) : `,${own.slice(1)}`
          expect([path, body.toString(), dropped]).toEqual(['/messages', adapter + rest, []])
        },
      ),
    )
  })

  test('leaves out the members that the target is known to refuse, and reports them', () => {
    const { body, dropped } = requestOf('{"max_tokens":9,"temperature":0.5,"messages":[]}', [
      { parameter: 'temperature' },
    ])
    expect(JSON.parse(body.toString())).toEqual({ model: 'claude', stream: true, max_tokens: 9, messages: [] })
    expect(dropped).toEqual(['temperature'])
  })

  const turns = (thinking: object) => [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [thinking, { type: 'tool_use', id: 't', name: 'a', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }] },
  ]

  test('keeps thoughts with the vendor’s signature', () => {
    const own = JSON.stringify({ messages: turns({ type: 'thinking', thinking: 'Hm', signature: 'c2ln' }) })
    expect(requestOf(own).body.toString()).toContain('"signature":"c2ln"')
  })

  test.each([
    [{ type: 'enabled', budget_tokens: 2_000 }, undefined, ['thinking']],
    [{ type: 'adaptive' }, { type: 'adaptive' }, []],
  ])('has no thoughts of a model that signs none (%j)', (thinking, left, reported) => {
    const own = { thinking, messages: turns({ type: 'thinking', thinking: 'Hm', signature: UNSIGNED }) }
    const { body, dropped } = requestOf(JSON.stringify(own))
    const sent = JSON.parse(body.toString()) as JsonObject & { messages: { content: unknown }[] }
    expect(sent.messages[1]!.content).toEqual([{ type: 'tool_use', id: 't', name: 'a', input: {} }])
    expect([sent.thinking, dropped]).toEqual([left, reported])
  })

  test('has no other model than its own', () => {
    const tools = [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5' }]
    const { body, dropped } = requestOf(
      JSON.stringify({ max_tokens: 9, tools, fallbacks: [{ model: 'claude-opus-5' }] }),
    )
    expect(JSON.parse(body.toString())).toEqual({ model: 'claude', stream: true, max_tokens: 9 })
    expect(dropped).toEqual(['fallbacks', 'tools.advisor_20260301'])
  })

  test('that only speaks of the mark is not touched', () => {
    const own = JSON.stringify({ messages: [{ role: 'user', content: UNSIGNED }] })
    expect(requestOf(own).body.toString().endsWith(own.slice(1))).toBe(true)
  })
})

describe('a whole response', () => {
  const full = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [{ type: 'thinking', thinking: 'Hm', signature: 'c2ln' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5, cache_creation_input_tokens: 6 },
  }
  const read = (response: object) =>
    messagesToMessages.readBackendResponse('chat', Buffer.from(JSON.stringify(response)), IDENTITY)

  test('travels as it came; its usage counts both ways through the cache', () => {
    const { bytes, usage } = read(full)
    expect(bytes.toString()).toBe(JSON.stringify(full))
    expect(usage).toMatchObject({ promptTokens: 14, cachedTokens: 5, cacheWriteTokens: 6, completionTokens: 4 })
  })

  test("includes the cost of its vendor's compaction and advice, which stand apart", () => {
    const of = (type: string) => ({ type, input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 1 })
    const iterations = [of('message'), of('compaction'), of('advisor_message')]
    const { bytes, usage } = read({ ...full, usage: { ...full.usage, iterations } })
    expect(usage).toMatchObject({ promptTokens: 216, cachedTokens: 7, cacheWriteTokens: 6, completionTokens: 24 })
    expect(bytes.toString()).toContain('"input_tokens":3,"output_tokens":4')
  })

  test('gets the names that it lacks', () => {
    const { id: _id, model: _model, ...nameless } = full
    expect(read(nameless).json).toMatchObject({ id: 'msg_own', model: 'of-the-target' })
  })

  test('whose backend counts more than any request has is counted here', () => {
    for (const name of ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']) {
      for (const absurd of [1e10, Number.MAX_SAFE_INTEGER, 1e300]) {
        expect(read({ ...full, usage: { ...full.usage, [name]: absurd } }).usage).toBeNull()
      }
    }
  })

  test('without a usage gets the counted one', () => {
    const { usage: _, ...bare } = full
    const response = read(bare)
    expect([response.usage, messagesToMessages.textOf(response.json)]).toEqual([null, 'Hm'])
    const counted = { promptTokens: 3, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0, estimated: true }
    const sent = JSON.parse(messagesToMessages.withUsage(response, counted, 'chat').toString()) as JsonObject
    expect(sent.usage).toMatchObject({ input_tokens: 3, output_tokens: 2 })
  })

  test.each([
    ['an error under a 200', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
    ['a message without an end', { ...full, stop_reason: null }],
    ['no message', { choices: [] }],
  ])('that is %s is a failure', (_, response) => {
    expect(() => read(response)).toThrow()
  })
})

describe('a stream', () => {
  const block = fc.oneof(
    fc.string({ minLength: 1 }).map((text) => [
      { type: 'text', text: '' },
      { type: 'text_delta', text },
    ]),
    fc.string({ minLength: 1 }).map((signature) => [
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'signature_delta', signature },
    ]),
    fc.string({ minLength: 1 }).map((name) => [
      { type: 'tool_use', id: 't', name, input: {} },
      { type: 'input_json_delta', partial_json: '{}' },
    ]),
  )
  const events = fc.array(block, { minLength: 1, maxLength: 4 }).map((blocks) => [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        model: 'claude',
        usage: { input_tokens: 9, cache_creation_input_tokens: 2, output_tokens: 1 },
      },
    },
    { type: 'ping' },
    ...blocks.flatMap(([start, delta], index) => [
      { type: 'content_block_start', index, content_block: start },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ])
  const textOf = (all: object[]) =>
    all.map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

  function passed(text: string, size = text.length) {
    const reading = messagesToMessages.readStream({ includeUsage: true, choices: 1, identity: IDENTITY })
    const parser = createSseParser()
    const out: Buffer[] = []
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += size) {
      for (const event of parser.push(bytes.subarray(at, at + size))) out.push(...[reading.read(event) ?? []].flat())
    }
    return { reading, out }
  }

  test('passes byte by byte, however it is cut, and is counted', () => {
    fc.assert(
      fc.property(events, fc.integer({ min: 1, max: 200 }), (all, size) => {
        const { reading, out } = passed(textOf(all), size)
        expect(reading.progress).toMatchObject({ begun: true, complete: true, done: true })
        const usage = { promptTokens: 11, completionTokens: 7, cachedTokens: 0, cacheWriteTokens: 2 }
        expect(reading.progress.usage).toMatchObject(usage)
        expect(Buffer.concat([...out, reading.usageChunk(reading.progress.usage!)].flat()).toString()).toBe(textOf(all))
      }),
    )
  })

  test('of a server that writes other ends of lines passes all the same, and ends by the event that the edge knows', () => {
    const [all] = fc.sample(events, { seed: 2, numRuns: 1 })
    const text = textOf(all!).replaceAll('\n', '\r\n').replaceAll('event: ', 'event:')
    const { reading, out } = passed(text)
    const sent = Buffer.concat([...out, reading.usageChunk(reading.progress.usage!)].flat()).toString()
    const end = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    expect(sent).toBe(text.slice(0, text.lastIndexOf('event:message_stop')) + end)
  })

  test('waits with the events of its end for the usage', () => {
    const { out } = passed(textOf(fc.sample(events, { seed: 1, numRuns: 1 })[0]!))
    expect(Buffer.concat(out).toString()).not.toMatch(/message_(delta|stop)/)
  })

  test('that lacks its usage and its end gets both', () => {
    const all = [
      { type: 'message_start', message: { model: '' } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ]
    const { reading, out } = passed(textOf(all))
    expect(reading.progress).toMatchObject({ complete: true, done: false, usage: null, text: { kept: 'Hi' } })
    const counted = { promptTokens: 3, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0, estimated: true }
    const sent = Buffer.concat([...out, reading.usageChunk(counted)].flat()).toString()
    expect(sent).toContain('"message":{"model":"of-the-target","id":"msg_own"}')
    expect(sent).toMatch(/"output_tokens":2[^]*event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/)
  })

  test.each([[{}], [{ usage: {} }], [{ usage: { output_tokens: null } }]])(
    'without output tokens at its end is counted, with any figure at its start: %j',
    (reported) => {
      const usage = { input_tokens: 9, cache_read_input_tokens: 5, output_tokens: 1 }
      const all = [
        { type: 'message_start', message: { id: 'm', model: 'c', usage } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'A long answer' } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...reported },
        { type: 'message_stop' },
      ]
      const { reading, out } = passed(textOf(all))
      expect(reading.progress).toMatchObject({ usage: null, prompt: { promptTokens: 14, cachedTokens: 5 } })
      const counted = { promptTokens: 14, completionTokens: 3, cachedTokens: 5, reasoningTokens: 0, estimated: true }
      const sent = Buffer.concat([...out, reading.usageChunk(counted)].flat()).toString()
      expect(sent).toMatch(/event: message_delta\n.*"input_tokens":9.*"output_tokens":3/)
    },
  )

  test('of a role alone has not begun', () => {
    const { reading } = passed(textOf([{ type: 'message_start', message: { id: 'm', model: 'c' } }, { type: 'ping' }]))
    expect(reading.progress.begun).toBe(false)
  })

  test.each([
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    'event: error\ndata: upstream connect error\n\n',
    'data: {"type":"error","error":{"type":"api_error","message":"no"}}\n\n',
  ])('that reports an error is that failure: %s', (text) => {
    expect(() => passed(text)).toThrow('the backend reported an error inside its answer')
  })
})
