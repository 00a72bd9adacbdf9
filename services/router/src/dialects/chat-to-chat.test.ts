import type { ClientDialect } from '@gateway/contracts/vendors'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { BackendFault, isRequestsOwnFault } from '../core/backend-fault.ts'
import type { ChatStateForm } from '../core/reasoning-state.ts'
import type { StateSeal } from '../core/state-seal.ts'
import { createSseParser } from '@gateway/sse/parse-events'
import { chatToChat, prependMembers } from './chat-to-chat.ts'
import { dialectRoute } from './dialects.ts'

const IDENTITY = { id: 'chatcmpl-own', created: 9, model: 'of the target' }

function read(chunks: (object | string)[], options: { includeUsage?: boolean; choices?: number } = {}) {
  const reading = chatToChat.readStream({ includeUsage: false, choices: 1, identity: IDENTITY, ...options })
  const text = chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join('')
  const passed = createSseParser()
    .push(Buffer.from(text))
    .map((event) => reading.read(event)?.toString() ?? null)
  return { reading, passed }
}

const delta = (value: object, finish_reason: string | null = null, index = 0) => ({
  choices: [{ index, delta: value, finish_reason }],
})

describe('a request', () => {
  test('is the client’s object with members in front, for all its members and however it is spaced', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, 2), (object, spaces) => {
        const rest = Object.fromEntries(
          Object.entries(object).filter(([key]) => key !== 'model' && key !== '__proto__'),
        )
        const text = ` ${JSON.stringify(rest, null, spaces)}\n`
        const written = JSON.parse(prependMembers({ model: 'm' }, Buffer.from(text)).toString()) as object
        expect(written).toEqual({ model: 'm', ...(JSON.parse(text) as object) })
      }),
    )
  })

  test.each(['{}', '{ }', ' {\n} '])('of no members (%j) is still JSON', (body) => {
    expect(JSON.parse(prependMembers({ model: 'm' }, Buffer.from(body)).toString())).toEqual({ model: 'm' })
  })

  test.each([
    ['chat', '/chat/completions'],
    ['embeddings', '/embeddings'],
    ['images', '/images/generations'],
  ] as const)('for %s goes to %s', (kind, path) => {
    expect(
      chatToChat.request({ kind, body: Buffer.from('{}'), model: 'm', stream: false, maxTokens: undefined, form: [] })
        .path,
    ).toBe(path)
  })

  test('without a key carries no credential', () => {
    expect(chatToChat.headers(undefined)).toEqual({})
  })
})

describe('a chunk that is like an earlier one but for its text', () => {
  const named = { id: 'chatcmpl-theirs', object: 'chat.completion.chunk', created: 5, model: 'm' }
  const texts = fc.oneof(
    fc.constantFrom('a', 'b c', '', '"', '\\', '\n', '😀', '","content":"', 'ü'),
    fc.string({ unit: 'binary', maxLength: 12 }),
  )
  const deltas = fc.oneof(
    { weight: 8, arbitrary: texts.map((content): object => ({ content })) },
    texts.map((content): object => ({ role: 'assistant', content })),
    texts.map((content): object => ({ note: { content }, content })),
    texts.map((content): object => ({ content, reasoning_content: content })),
    texts.map((content): object => ({ content, extra_content: { google: { thought_signature: 'c2ln' } } })),
    texts.map((content): object => ({
      content,
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm', index: 0 }],
    })),
    texts.map((text): object => ({ reasoning_details: [{ type: 'reasoning.text', text, index: 0 }] })),
    fc.constant<object>({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '' } }] }),
  )
  const chunks = fc.record({
    delta: deltas,
    index: fc.constantFrom(0, 0, 0, 1),
    finish_reason: fc.constantFrom(null, null, null, null, null, 'stop'),
    usage: fc.constantFrom(undefined, undefined, undefined, {
      prompt_tokens: 8,
      completion_tokens: 1,
      total_tokens: 9,
    }),
    spaces: fc.constantFrom(0, 0, 0, 1),
  })

  /** In the place of tokens, whose bytes nobody can foretell. */
  const states: StateSeal = { seal: (_, text) => Buffer.from(text).toString('base64url'), open: () => null }
  const readings: [client: ClientDialect, form: ChatStateForm | undefined][] = [
    ['chat', undefined],
    ['chat', 'signatures'],
    ['chat', 'details'],
    ['messages', undefined],
    ['messages', 'signatures'],
    ['responses', undefined],
    ['responses', 'details'],
  ]

  test.each(readings)('is read as if it was parsed, for a client of %s and state in %s', (client, stateForm) => {
    const { dialect } = dialectRoute(client, ['chat'])
    const body = Buffer.from('{"input":"Hi","messages":[{"role":"user","content":"Hi"}],"max_tokens":9}')
    const { echo } = dialect.request({ kind: 'chat', body, model: 'm', stream: true, maxTokens: undefined, form: [] })
    const state = stateForm && { states, stateKind: 'theirs', stateForm }
    fc.assert(
      fc.property(fc.array(chunks, { maxLength: 12 }), fc.constantFrom(1, 2), (stream, choices) => {
        const options = { includeUsage: true, choices, echo, identity: { ...IDENTITY, ...state } }
        const readAll = (tail: (at: number) => string) => {
          const reading = dialect.readStream(options)
          const written = stream.map(({ delta, index, finish_reason, usage, spaces }, at) => {
            const chunk = { ...named, choices: [{ index, delta, finish_reason }], usage }
            // A server in Python writes spaces behind colons and commas.
            const json = spaces ? JSON.stringify(chunk, null, 1).replaceAll(/\n */g, ' ') : JSON.stringify(chunk)
            const data = json + tail(at)
            return reading.read({ raw: Buffer.from(`data: ${data}\n\n`), name: null, data })?.toString()
          })
          return { written: written.map((one) => one?.replaceAll(/ *\n/g, '\n')), progress: reading.progress, reading }
        }
        // No chunk is like one that ends otherwise.
        const [read, parsed] = [readAll(() => ''), readAll((at) => ' '.repeat(at + 1))]
        expect(read.written).toEqual(parsed.written)
        expect(read.progress).toEqual(parsed.progress)
        expect(read.reading.cut().toString()).toEqual(parsed.reading.cut().toString())
      }),
      { numRuns: 300 },
    )
  })

  test('is not parsed', () => {
    const events = Array.from({ length: 10 }, (_, at) => {
      return { ...named, ...delta({ content: `word ${at} ` }) }
    })
    using parse = vi.spyOn(JSON, 'parse')
    const { passed, reading } = read([...events, delta({}, 'stop')])
    const parsed = parse.mock.calls.filter(([text]) => text.length > 'word 0 '.length + 2)
    expect(parsed.length).toBeLessThan(5)
    expect(passed.slice(0, 10)).toEqual(events.map((event) => `data: ${JSON.stringify(event)}\n\n`))
    expect(reading.progress.text.kept).toBe(events.map((_, at) => `word ${at} `).join(''))
  })
})

describe('the chunks of one stream have one id', () => {
  const ids = (chunks: object[]) => {
    const { passed } = read([...chunks, '[DONE]'])
    const events = passed.flatMap((bytes) => bytes?.split('\n\n').filter(Boolean) ?? [])
    return events.map((event) => (JSON.parse(event.slice('data: '.length)) as { id: string }).id)
  }
  const named = { id: 'chatcmpl-theirs', object: 'chat.completion.chunk', created: 5, model: 'm' }
  const filters = { id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [{}] }
  const offsets = { ...filters, choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }] }

  test.each([
    ['one that says it once', [{ ...named, ...delta({ content: 'a' }) }, delta({ content: 'b' }), delta({}, 'stop')]],
    ['Azure’s, with filters between', [filters, { ...named, ...delta({ content: 'a' }) }, offsets, delta({}, 'stop')]],
  ])('%s', (_, chunks) => {
    expect(ids(chunks)).toEqual(chunks.map(() => 'chatcmpl-theirs'))
  })

  test('ours, where the backend says none', () => {
    expect(ids([filters, delta({ content: 'a' }), delta({}, 'stop')])).toEqual([
      'chatcmpl-own',
      'chatcmpl-own',
      'chatcmpl-own',
    ])
  })
})

describe('a stream has begun', () => {
  test.each([
    ['text', { content: 'x' }],
    ['reasoning', { reasoning_content: 'hm' }],
    ['reasoning under its other name', { reasoning: 'hm' }],
    ['a tool call', { tool_calls: [{ index: 0, function: { name: 'f', arguments: '' } }] }],
    ['a refusal', { refusal: 'no' }],
    ['audio', { audio: { data: 'UklGRg==' } }],
  ])('with %s', (_, value) => {
    expect(read([delta(value)]).reading.progress.begun).toBe(true)
  })

  test('with its end, also when it is empty', () => {
    expect(read([delta({ role: 'assistant', content: '' }), delta({}, 'length')]).reading.progress.begun).toBe(true)
  })

  test.each([
    ['a role', { role: 'assistant' }],
    ['a role and empty fields', { role: 'assistant', content: '', tool_calls: [], refusal: null, function_call: {} }],
  ])('not with %s', (_, value) => {
    expect(read([delta(value)]).reading.progress.begun).toBe(false)
  })
})

describe('a stream is complete', () => {
  test('when every choice that was requested has finished', () => {
    const { reading } = read([delta({ content: 'a' }), delta({}, 'stop')], { choices: 2 })
    expect(reading.progress.complete).toBe(false)
    expect(read([delta({}, 'stop', 0), delta({}, 'stop', 1)], { choices: 2 }).reading.progress.complete).toBe(true)
  })

  test('not by the empty finish reasons that some backends write', () => {
    expect(read([delta({ content: 'a' }, '')]).reading.progress.complete).toBe(false)
  })

  test('when the backend says that it is done', () => {
    expect(read([delta({ content: 'a' }), '[DONE]']).reading.progress).toMatchObject({ complete: true, done: true })
  })
})

describe('usage beside content', () => {
  const counted = { ...delta({ content: 'a' }), usage: { prompt_tokens: 8, completion_tokens: 1, total_tokens: 9 } }
  const usageIn = (event: string | null) => (JSON.parse(event!.slice('data: '.length)) as { usage?: unknown }).usage

  test('is not passed on to a client that did not request it', () => {
    const { passed } = read([counted])
    expect(passed[0]).toContain('"content":"a"')
    expect(usageIn(passed[0]!)).toBeUndefined()
  })

  test('is passed on once, at the end, to one that did', () => {
    const { passed, reading } = read([counted, { ...delta({}, 'stop'), usage: counted.usage }], { includeUsage: true })
    expect(passed.map(usageIn)).toEqual([null, null])
    expect(usageIn(reading.usageChunk(reading.progress.usage!).toString())).toMatchObject({ completion_tokens: 1 })
  })
})

describe('the usage of a stream', () => {
  const usage = {
    prompt_tokens: 8,
    completion_tokens: 5,
    total_tokens: 13,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 2 },
  }

  test('is read from its last chunk, which is passed on at the end as it came', () => {
    const chunks = [
      delta({ content: 'a' }),
      { id: 'chatcmpl-c1', object: 'chat.completion.chunk', created: 5, model: 'm', choices: [], usage },
    ]
    const { passed, reading } = read(chunks, { includeUsage: true })
    expect(passed.map((bytes) => bytes !== null)).toEqual([true, false])
    expect(reading.usageChunk(reading.progress.usage!).toString()).toBe(`data: ${JSON.stringify(chunks[1])}\n\n`)
    expect(reading.progress.usage).toEqual({
      promptTokens: 8,
      completionTokens: 5,
      cachedTokens: 4,
      reasoningTokens: 2,
      estimated: false,
    })
  })

  test('is the last of those that a backend writes into every chunk', () => {
    const { reading, passed } = read([
      { ...delta({ content: 'a' }), usage: { prompt_tokens: 8, completion_tokens: 1, total_tokens: 9 } },
      { ...delta({ content: 'b' }), usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 } },
      { ...delta({}, 'stop'), usage: null },
    ])
    expect(reading.progress.usage?.completionTokens).toBe(2)
    expect(passed).not.toContain(null)
  })

  test('of all zeros is none', () => {
    expect(
      read([{ choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }]).reading.progress
        .usage,
    ).toBeNull()
  })

  test('is read beside the finish reason, where Moonshot writes it, and goes to the client that requested it', () => {
    const usage = { prompt_tokens: 19, completion_tokens: 13, total_tokens: 32, cached_tokens: 12 }
    const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] }
    const { reading } = read([delta({ content: 'Hi' }), last, '[DONE]'], { includeUsage: true })
    expect(reading.progress.usage).toMatchObject({ promptTokens: 19, completionTokens: 13, cachedTokens: 12 })
    expect(reading.usageChunk(reading.progress.usage!).toString()).toContain('"completion_tokens":13')
  })

  test('is written as counted, where the backend did not count all', () => {
    const known = { promptTokens: 1, completionTokens: 1, cachedTokens: 0, reasoningTokens: 0, estimated: true }
    expect(
      read([{ choices: [], usage }])
        .reading.usageChunk(known)
        .toString(),
    ).toContain('"total_tokens":2}')
    const own = read([{ id: 'chatcmpl-c1', model: 'm', created: 5, ...delta({}, 'stop') }])
      .reading.usageChunk(known)
      .toString()
    expect(JSON.parse(own.slice('data: '.length))).toEqual({
      id: 'chatcmpl-c1',
      object: 'chat.completion.chunk',
      created: 5,
      model: 'm',
      choices: [],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    })
  })
})

describe('a stream without a finish reason', () => {
  const reasonsOf = (passed: (string | null)[]) =>
    passed.flatMap((text) => text ?? []).map((text) => /"finish_reason":("\w+"|null)/.exec(text)?.[1])

  test('gets one with its end', () => {
    expect(reasonsOf(read([delta({ content: 'Hi' }), '[DONE]']).passed)).toEqual(['null', '"stop"'])
  })

  test('that calls a tool gets that reason', () => {
    const call = { index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
    expect(reasonsOf(read([delta({ tool_calls: [call] }), '[DONE]']).passed)).toEqual(['null', '"tool_calls"'])
  })

  test('of its own has no other one', () => {
    const { passed } = read([delta({ content: 'Hi' }), delta({}, 'length'), delta({ content: '' }), '[DONE]'])
    expect(reasonsOf(passed)).toEqual(['null', '"length"', 'null'])
  })
})

test('a ping is a sign of life, with any data in it', () => {
  const reading = chatToChat.readStream({ includeUsage: false, choices: 1, identity: IDENTITY })
  const [ping] = createSseParser().push(Buffer.from('event: ping\ndata: 2026-11-23 03:00:00\n\n'))
  expect(reading.read(ping!)).toBeNull()
})

test('thoughts that a server writes under two names are counted once', () => {
  const { reading } = read([delta({ reasoning: 'Let me', reasoning_content: 'Let me' })])
  expect(reading.progress.text.kept).toBe('Let me')
})

test('parts of a text are counted', () => {
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Let me' }] }
  const { reading } = read([delta({ content: [thinking] }), delta({ content: [{ type: 'text', text: 'Hi' }] })])
  expect(reading.progress.text.kept).toBe('Let meHi')
})

describe('an error inside a stream', () => {
  test.each([
    [{ error: { message: 'bad', type: 'BadRequestError', code: 400 } }, true],
    [{ error: { message: 'bad', type: 'invalid_request_error' } }, true],
    [{ error: { message: 'boom', code: '500' } }, false],
    [{ error: 'boom' }, false],
  ])('%j is reported from a response', (event, ownFault) => {
    const fault = faultOf(() => read([event]))
    expect(fault).toMatchObject({ kind: 'error_event', body: JSON.stringify(event) })
    expect(isRequestsOwnFault(fault)).toBe(ownFault)
  })
})

function faultOf(run: () => unknown): BackendFault {
  try {
    run()
  } catch (error) {
    if (error instanceof BackendFault) return error
    throw error
  }
  throw new Error('no fault was thrown')
}
