import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BackendFault } from '../core/backend-fault.ts'
import { createSseParser } from '@gateway/sse/parse-events'
import { readUsage } from '../core/chat-chunk.ts'
import { responsesToResponses } from './responses-to-responses.ts'
import { membersFor } from './responses-to-responses/complete-events.ts'

const IDENTITY = { id: 'resp_own', created: 1_790_000_000, model: 'of the target' }
const USAGE = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 16,
}
const COUNTED = { promptTokens: 12, completionTokens: 4, cachedTokens: 0, reasoningTokens: 3, estimated: false }

/** Nothing is missing in it, so the router has nothing to add. */
const responseWith = (status: string, members: object) => ({
  id: 'resp_1',
  ...membersFor(() => ({}), IDENTITY, status),
  ...members,
})

function bodyOf(request: object, options: { stream?: boolean; maxTokens?: number } = {}): string {
  const { path, body, dropped } = responsesToResponses.request({
    kind: 'chat',
    body: Buffer.from(JSON.stringify(request)),
    model: 'gpt-5',
    stream: options.stream ?? false,
    maxTokens: options.maxTokens,
    form: [],
  })
  expect(path).toBe('/responses')
  expect(dropped).toEqual([])
  return body.toString()
}

interface Event {
  type: string
  [member: string]: unknown
}

const written = (event: Event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

function relayed(events: Event[]) {
  const reading = responsesToResponses.readStream({ includeUsage: true, choices: 1, identity: IDENTITY })
  const bytes = createSseParser()
    .push(Buffer.concat(events.map(written)))
    .map((event) => ({ bytes: reading.read(event), begun: reading.progress.begun }))
  return { bytes, reading }
}

const CREATED = {
  type: 'response.created',
  sequence_number: 0,
  response: responseWith('in_progress', { tools: ['x'.repeat(100_000)] }),
}
const ADDED = {
  type: 'response.output_item.added',
  sequence_number: 1,
  output_index: 0,
  item: { type: 'message', status: 'in_progress', content: [] },
}
const DELTA = { type: 'response.output_text.delta', sequence_number: 2, output_index: 0, delta: 'Hi' }
const COMPLETED = {
  type: 'response.completed',
  sequence_number: 3,
  response: responseWith('completed', { usage: USAGE }),
}

describe('a request', () => {
  test('travels as the client wrote it, hosted tools and all', () => {
    const request = { input: 'x', tools: [{ type: 'web_search' }], store: false }
    expect(bodyOf(request, { stream: true, maxTokens: 9 })).toBe(
      `{"model":"gpt-5","stream":true,"max_output_tokens":9,${JSON.stringify(request).slice(1)}`,
    )
  })

  test('leaves out the thoughts that no vendor keeps', () => {
    const thought = (rest: object) => ({ type: 'reasoning', summary: [], ...rest })
    const content = [{ type: 'reasoning_text', text: 'Hm' }]
    const kept = [thought({ id: 'rs_1', encrypted_content: 'e' }), thought({ id: 'rs_2', content })]
    const lost = [thought({ id: 'rs_3' }), thought({ id: 'rs_svc_1_0', content })]
    expect(JSON.parse(bodyOf({ input: [...kept, ...lost], store: false }))).toMatchObject({ input: kept })
  })
})

describe('a plain response', () => {
  test('keeps its bytes', () => {
    const bytes = Buffer.from(JSON.stringify(responseWith('completed', { usage: USAGE })))
    const read = responsesToResponses.readBackendResponse('chat', bytes, IDENTITY)
    expect(read.bytes).toBe(bytes)
    expect(read.usage).toEqual(COUNTED)
  })

  test('without usage gets one', () => {
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }]
    const read = responsesToResponses.readBackendResponse(
      'chat',
      Buffer.from(JSON.stringify({ status: 'completed', output })),
      IDENTITY,
    )
    expect(read.usage).toBeNull()
    expect(responsesToResponses.textOf(read.json)).toBe('Hi')
    expect(JSON.parse(responsesToResponses.withUsage(read, COUNTED, 'chat').toString())).toMatchObject({
      output,
      usage: { input_tokens: 12, output_tokens: 4, total_tokens: 16 },
    })
  })

  test.each([
    ['rate_limit_exceeded', 429],
    ['server_error', 500],
    ['invalid_prompt', 400],
    ['invalid_image_format', 400],
  ])('that failed by %s is a failure with status %i', (code, status) => {
    const failed = { status: 'failed', output: [], error: { code, message: 'no' } }
    const read = () => responsesToResponses.readBackendResponse('chat', Buffer.from(JSON.stringify(failed)), IDENTITY)
    expect(read).toThrow(expect.objectContaining({ kind: 'error_event' }) as Error)
    const { event } = { event: { type: 'response.failed', sequence_number: 1, response: failed } }
    expect(() => relayed([CREATED, event])).toThrow(expect.objectContaining({ status }) as Error)
  })

  test('that is no response is none', () => {
    expect(() => responsesToResponses.readBackendResponse('chat', Buffer.from('{"choices":[]}'), IDENTITY)).toThrow(
      BackendFault,
    )
  })
})

describe('a stream', () => {
  test('keeps its bytes, and holds its opening of any size until the first content', () => {
    const { bytes, reading } = relayed([CREATED, ADDED, DELTA, COMPLETED])
    expect(bytes.map(({ begun }) => begun)).toEqual([false, false, true, true])
    const all = Buffer.concat(
      [...bytes.flatMap((one) => one.bytes ?? []), reading.usageChunk(reading.progress.usage!)].flat(),
    )
    expect(all.equals(Buffer.concat([CREATED, ADDED, DELTA, COMPLETED].map(written)))).toBe(true)
    expect(reading.progress).toMatchObject({ complete: true, done: true, usage: COUNTED })
    expect(reading.progress.text.kept).toBe('Hi')
  })

  test('begins with a call, or ends properly without any content', () => {
    const call = { ...ADDED, item: { type: 'function_call', name: 'look' } }
    expect(relayed([CREATED, call]).reading.progress.begun).toBe(true)
    const incomplete = { ...COMPLETED, type: 'response.incomplete' }
    expect(relayed([CREATED, incomplete]).reading.progress).toMatchObject({ begun: true, complete: true })
  })

  test('without usage gets one in its terminal event, which is named', () => {
    const { reading } = relayed([CREATED, DELTA, { ...COMPLETED, response: { id: 'resp_1', output: [] } }])
    expect(reading.progress.usage).toBeNull()
    const last = reading.usageChunk(COUNTED).toString()
    expect(last).toMatch(/^event: response\.completed\ndata: \{.*"input_tokens":12.*\}\n\n$/)
  })

  test('of a server that says it is alive for ever takes no more memory for it', () => {
    const alive = {
      type: 'response.in_progress',
      sequence_number: 1,
      response: { id: 'resp_1', tools: ['x'.repeat(10_000)] },
    }
    const { bytes } = relayed([CREATED, ...Array.from({ length: 100 }, () => alive), DELTA])
    expect(bytes.at(-1)!.bytes!.length).toBeLessThan(200_000)
  })

  test('that breaks with an error event is a failure', () => {
    const error = { type: 'error', code: 'server_error', message: 'no', param: null, sequence_number: 4 }
    expect(() => relayed([CREATED, DELTA, error])).toThrow(expect.objectContaining({ kind: 'error_event' }) as Error)
  })
})

describe('the usage of the last event', () => {
  const tricky = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>(
      { usage: USAGE },
      [{ usage: { usage: {} } }],
      '"usage":{"input_tokens":1,"output_tokens":1}}',
      { ',"usage': {}, 'a,"usage': { input_tokens: 7 } },
    ),
  )
  const name = fc.constantFrom('usage', 'tools', 'output', 'metadata', 'x"usage', 'user')
  const members = fc.array(fc.tuple(name, fc.oneof(tricky, fc.constant(USAGE))))
  const response = members.map((each) => ({ id: 'resp_1', ...(Object.fromEntries(each) as object) }))
  /** The router writes a list in place of their null. */
  const FILLED = ['tools', 'output']
  const order = fc.constantFrom(['type', 'sequence_number', 'response'], ['response', 'type'], ['type', 'response'])

  test('is that of the whole event, with any members in any order', () => {
    fc.assert(
      fc.property(response, order, fc.boolean(), (given: object, names, isNamed) => {
        const full = { type: 'response.completed', sequence_number: 3, response: given }
        const written = JSON.stringify(Object.fromEntries(names.map((member) => [member, full[member as 'type']])))
        const text = `data: ${written}\n\n`
        const reading = responsesToResponses.readStream({ includeUsage: true, choices: 1, identity: IDENTITY })
        const sent = Buffer.from(isNamed ? `event: response.completed\n${text}` : text)
        for (const one of createSseParser().push(sent)) reading.read(one)
        expect(reading.progress).toMatchObject({ complete: true, usage: readUsage((given as Event).usage) })
        const [end] = createSseParser().push(reading.usageChunk(COUNTED))
        expect(end!.name).toBe('response.completed')
        if (reading.progress.usage === null) return
        const kept = Object.entries(given).filter(([name, value]) => value !== null || !FILLED.includes(name))
        // As JSON has it: there a negative zero is a zero.
        const expected = JSON.parse(JSON.stringify({ ...full, response: Object.fromEntries(kept) })) as Event
        expect(JSON.parse(end!.data)).toMatchObject(
          Object.fromEntries(names.map((member) => [member, expected[member]])),
        )
      }),
      { numRuns: 2_000 },
    )
  })
})
