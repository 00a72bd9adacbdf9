/**
 * Exchanges in the shapes that Anthropic's public documentation shows for the Messages API and its streaming.
 */

import { describe, expect, test } from 'vitest'
import { BackendFault, isRequestsOwnFault } from '../core/backend-fault.ts'
import { createSseParser } from '@gateway/sse/parse-events'
import { chatToMessages } from './chat-to-messages.ts'
import type { StreamReading } from './dialect.ts'

interface OpenAiJson {
  [field: string]: unknown
  choices: { delta?: object; message?: object; finish_reason: string | null }[]
}

const CREATED = 1_790_000_000
const IDENTITY = { id: 'own', created: CREATED, model: 'of the target' }

function requestOf(chat: object, options: { stream?: boolean; maxTokens?: number } = {}): Record<string, unknown> {
  const { path, body } = chatToMessages.request({
    kind: 'chat',
    body: Buffer.from(JSON.stringify(chat)),
    model: 'claude-opus-4-1',
    stream: options.stream ?? false,
    maxTokens: options.maxTokens,
    form: [],
  })
  expect(path).toBe('/messages')
  return JSON.parse(body.toString()) as Record<string, unknown>
}

function responseTo(message: object) {
  const { bytes, usage } = chatToMessages.readBackendResponse('chat', Buffer.from(JSON.stringify(message)), IDENTITY)
  return { json: JSON.parse(bytes.toString()) as OpenAiJson, usage }
}

function readStream(events: object[]): { chunks: OpenAiJson[]; reading: StreamReading } {
  const reading = chatToMessages.readStream({ includeUsage: false, choices: 1, identity: IDENTITY })
  const text = events
    .map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('')
  const chunks = createSseParser()
    .push(Buffer.from(text))
    .flatMap((event) => {
      const bytes = reading.read(event)
      return bytes ? [JSON.parse(bytes.toString().slice('data: '.length)) as OpenAiJson] : []
    })
  return { chunks, reading }
}

describe('a request', () => {
  test('reports the members that it leaves out', () => {
    const body = Buffer.from(
      JSON.stringify({
        messages: [{ role: 'user', content: 'x' }],
        seed: 1,
        top_p: 0.5,
        logprobs: null,
        presence_penalty: 0.1,
      }),
    )
    const clientRequest = { kind: 'chat', body, model: 'm', stream: false, maxTokens: undefined, form: [] } as const
    expect(chatToMessages.request(clientRequest).dropped).toEqual(['presence_penalty', 'seed'])
  })

  test('carries system texts apart, and turns of one role together', () => {
    const request = requestOf({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'In French.' }] },
        { role: 'user', content: 'Hello' },
        { role: 'user', content: [{ type: 'text', text: 'Who are you?' }] },
        { role: 'assistant', content: 'Claude.' },
        { role: 'user', content: 'And me?' },
      ],
    })
    expect(request).toEqual({
      model: 'claude-opus-4-1',
      max_tokens: 4096,
      system: 'Be brief.\n\nIn French.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hello' },
            { type: 'text', text: 'Who are you?' },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'Claude.' }] },
        { role: 'user', content: [{ type: 'text', text: 'And me?' }] },
      ],
    })
  })

  test('leaves later words of the system where they are, as a reminder', () => {
    const { system, messages } = requestOf({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
        { role: 'system', content: 'The file has changed.' },
      ],
    }) as { system: string; messages: object[] }
    expect(system).toBe('Be brief.')
    const reminder = '<system-reminder>\nThe file has changed.\n</system-reminder>'
    const content = ['Hello', reminder].map((text) => ({ type: 'text', text }))
    expect(messages).toEqual([{ role: 'user', content }])
  })

  test('carries a tool conversation', () => {
    const weather = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }
    const request = requestOf({
      tools: [{ type: 'function', function: { name: 'get_weather', description: 'The weather', parameters: weather } }],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      parallel_tool_calls: false,
      messages: [
        { role: 'user', content: 'Weather in Paris and Rome?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 't1', type: 'function', function: { name: 'get_weather', arguments: '{"location":"Paris"}' } },
            { id: 't2', type: 'function', function: { name: 'get_weather', arguments: '{"location":"Rome"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 't1', content: '12 °C' },
        { role: 'tool', tool_call_id: 't2', content: '18 °C' },
      ],
    })
    expect(request.tools).toEqual([{ name: 'get_weather', description: 'The weather', input_schema: weather }])
    expect(request.tool_choice).toEqual({ type: 'tool', name: 'get_weather', disable_parallel_tool_use: true })
    expect(request.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Weather in Paris and Rome?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 't1', name: 'get_weather', input: { location: 'Paris' } },
          { type: 'tool_use', id: 't2', name: 'get_weather', input: { location: 'Rome' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: '12 °C' }] },
          { type: 'tool_result', tool_use_id: 't2', content: [{ type: 'text', text: '18 °C' }] },
        ],
      },
    ])
  })

  test('carries images inline and by address', () => {
    const { messages } = requestOf({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Compare.' },
            { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/4AAQ' } },
            { type: 'image_url', image_url: { url: 'https://example.com/cat.png', detail: 'low' } },
          ],
        },
      ],
    })
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Compare.' },
          { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/4AAQ' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/cat.png' } },
        ],
      },
    ])
  })

  const messages = [{ role: 'user', content: 'x' }]
  const TOOL = { type: 'function', function: { name: 'look' } }
  test.each([
    ['the client’s cap first', { max_tokens: 5 }, { max_tokens: 5 }],
    ['the newer name of the cap before the older', { max_tokens: 5, max_completion_tokens: 7 }, { max_tokens: 7 }],
    ['the lane’s cap where the client has none', {}, { max_tokens: 300 }],
    ['one stop sequence', { stop: 'END' }, { stop_sequences: ['END'] }],
    ['several stop sequences', { stop: ['a', 'b'] }, { stop_sequences: ['a', 'b'] }],
    ['no tool, please', { tools: [TOOL], tool_choice: 'none' }, { tool_choice: { type: 'none' } }],
    ['some tool, please', { tools: [TOOL], tool_choice: 'required' }, { tool_choice: { type: 'any' } }],
    ['whose request it is', { user: 'u-1' }, { metadata: { user_id: 'u-1' } }],
  ])('carries %s', (_, chat, expected) => {
    expect(requestOf({ messages, ...chat }, { maxTokens: 300 })).toMatchObject(expected)
  })

  test('for several choices is refused as the request’s own fault', () => {
    const refusal = catchFault(() => requestOf({ messages, n: 2 }))
    expect(isRequestsOwnFault(refusal)).toBe(true)
  })
})

describe('a plain response', () => {
  const message = {
    id: 'msg_013Zva2CMHLNnXjNJJKqJ2EF',
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-4-1-20250805',
    content: [{ type: 'text', text: 'Hi! My name is Claude.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 12, cache_creation_input_tokens: 30, cache_read_input_tokens: 100, output_tokens: 9 },
  }

  test('becomes a chat completion whose prompt includes the tokens from the cache', () => {
    const { json, usage } = responseTo(message)
    expect(json).toEqual({
      id: 'chatcmpl-013Zva2CMHLNnXjNJJKqJ2EF',
      object: 'chat.completion',
      created: CREATED,
      model: message.model,
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi! My name is Claude.' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 142,
        completion_tokens: 9,
        total_tokens: 151,
        prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    })
    expect(usage).toEqual({
      promptTokens: 142,
      completionTokens: 9,
      cachedTokens: 100,
      cacheWriteTokens: 30,
      reasoningTokens: 0,
      estimated: false,
    })
  })

  test('with thinking and a tool call keeps both', () => {
    const { json } = responseTo({
      ...message,
      content: [
        { type: 'thinking', thinking: 'The user wants weather.', signature: 'EqQB' },
        { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { location: 'Paris' } },
      ],
      stop_reason: 'tool_use',
    })
    expect(json.choices[0]).toEqual({
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        reasoning_content: 'The user wants weather.',
        tool_calls: [
          { id: 'toolu_1', type: 'function', function: { name: 'get_weather', arguments: '{"location":"Paris"}' } },
        ],
      },
      finish_reason: 'tool_calls',
    })
  })

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['a_reason_yet_to_come', 'stop'],
  ])('that stopped for %s has finish reason %s', (stop_reason, finishReason) => {
    expect(responseTo({ ...message, stop_reason }).json.choices[0]?.finish_reason).toBe(finishReason)
  })

  test.each([
    ['not JSON', 'Bad gateway'],
    ['no message', '{"ok":true}'],
    ['unfinished', JSON.stringify({ ...message, stop_reason: null })],
  ])('that is %s is the backend’s fault', (_, body) => {
    expect(catchFault(() => chatToMessages.readBackendResponse('chat', Buffer.from(body), IDENTITY)).kind).toBe(
      'invalid_answer',
    )
  })
})

const start = {
  type: 'message_start',
  message: {
    id: 'msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'claude-opus-4-1-20250805',
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 10, output_tokens: 1 },
  },
}
const finish = (stop_reason: string, usage: object) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
]

describe('a response by our own tool', () => {
  const name = 'svc_answer_in_json'
  const usage = { input_tokens: 9, output_tokens: 12, output_tokens_details: { thinking_tokens: 5 } }

  test('is the text of a plain response, and its thoughts are counted', () => {
    const { json, usage: counted } = responseTo({
      ...start.message,
      content: [{ type: 'tool_use', id: 't1', name, input: { city: 'Paris' } }],
      stop_reason: 'tool_use',
      usage,
    })
    expect(json.choices[0]).toEqual({
      index: 0,
      message: { role: 'assistant', content: '{"city":"Paris"}' },
      finish_reason: 'stop',
    })
    expect(counted).toMatchObject({ completionTokens: 12, reasoningTokens: 5 })
    expect(json.usage).toMatchObject({ completion_tokens_details: { reasoning_tokens: 5 } })
  })

  test('is the text of a stream, piece by piece', () => {
    const { chunks, reading } = readStream([
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't1', name, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"city":' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '"Paris"}' } },
      { type: 'content_block_stop', index: 0 },
      ...finish('tool_use', usage),
    ])
    expect(chunks.map(({ choices }) => choices[0]?.delta).slice(1)).toEqual([
      { content: '{"city":' },
      { content: '"Paris"}' },
      {},
    ])
    expect(chunks.at(-1)!.choices[0]!.finish_reason).toBe('stop')
    expect(reading.progress.usage).toMatchObject({ reasoningTokens: 5 })
  })
})

test.each([
  ['its words', { type: 'refusal', category: 'cyber', explanation: 'This could harm.' }, 'This could harm.'],
  ['no words', { type: 'refusal', category: null, explanation: null }, 'The model refused to answer'],
])('a refusal with %s is reported as one, plain and streamed', (_, stop_details, refusal) => {
  const { json } = responseTo({ ...start.message, content: [], stop_reason: 'refusal', stop_details, usage: {} })
  expect(json.choices[0]).toMatchObject({ message: { content: '', refusal }, finish_reason: 'content_filter' })
  const end = { type: 'message_delta', delta: { stop_reason: 'refusal', stop_details }, usage: { output_tokens: 1 } }
  const { chunks } = readStream([start, end, { type: 'message_stop' }])
  expect(chunks.at(-1)!.choices[0]).toMatchObject({ delta: { refusal }, finish_reason: 'content_filter' })
})

describe('a stream', () => {
  test('becomes chunks, and its usage counts on from its start', () => {
    const { chunks, reading } = readStream([
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '!' } },
      { type: 'content_block_stop', index: 0 },
      ...finish('end_turn', { output_tokens: 15 }),
    ])
    expect(chunks.map(({ choices }) => [choices[0]?.delta, choices[0]?.finish_reason])).toEqual([
      [{ role: 'assistant', content: '' }, null],
      [{ content: 'Hello' }, null],
      [{ content: '!' }, null],
      [{}, 'stop'],
    ])
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({
        id: 'chatcmpl-1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY',
        object: 'chat.completion.chunk',
        created: CREATED,
        model: start.message.model,
      })
    }
    expect(reading.progress).toMatchObject({ begun: true, complete: true, done: true, text: { kept: 'Hello!' } })
    expect(reading.progress.usage).toEqual({
      promptTokens: 35,
      completionTokens: 15,
      cachedTokens: 10,
      reasoningTokens: 0,
      estimated: false,
    })
  })

  test('has not begun with its start alone, but knows its prompt', () => {
    const { reading } = readStream([
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ])
    expect(reading.progress).toMatchObject({
      begun: false,
      complete: false,
      prompt: { promptTokens: 35, cachedTokens: 10 },
      usage: null,
    })
  })

  test('carries thinking and several tool calls, each with its own position', () => {
    const { chunks, reading } = readStream([
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Two cities.' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'EqQBCgIYAhIM' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"location": "San' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: ' Francisco"}' } },
      { type: 'content_block_stop', index: 1 },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'toolu_2', name: 'get_time', input: {} },
      },
      { type: 'content_block_stop', index: 2 },
      ...finish('tool_use', { input_tokens: 25, cache_read_input_tokens: 10, output_tokens: 89 }),
    ])
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'Two cities.' },
      { tool_calls: [{ index: 0, id: 'toolu_1', type: 'function', function: { name: 'get_weather', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"location": "San' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ' Francisco"}' } }] },
      { tool_calls: [{ index: 1, id: 'toolu_2', type: 'function', function: { name: 'get_time', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
      {},
    ])
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls')
    expect(reading.progress.usage).toMatchObject({ promptTokens: 35, completionTokens: 89 })
  })

  test('keeps silent about tools that the backend runs itself', () => {
    const { chunks } = readStream([
      start,
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"query":"x"}' } },
      { type: 'content_block_stop', index: 0 },
    ])
    expect(chunks).toHaveLength(1)
  })

  test.each([
    ['overloaded_error', 529, false],
    ['rate_limit_error', 429, false],
    ['invalid_request_error', 400, true],
    ['an_error_yet_to_come', 500, false],
  ])('with an %s fails with status %i', (type, status, ownFault) => {
    const fault = catchFault(() => readStream([start, { type: 'error', error: { type, message: 'no' } }]))
    expect(fault).toMatchObject({ kind: 'error_event', status })
    expect(isRequestsOwnFault(fault)).toBe(ownFault)
  })
})

describe('an error body', () => {
  test('is reported in OpenAI’s shape', () => {
    const body = JSON.stringify({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'max_tokens: must be positive' },
    })
    expect(JSON.parse(chatToMessages.readErrorBody(body)!)).toEqual({
      error: { message: 'max_tokens: must be positive', type: 'invalid_request_error', param: null, code: null },
    })
    expect(chatToMessages.readErrorBody('<html>')).toBeNull()
  })
})

function catchFault(run: () => unknown): BackendFault {
  try {
    run()
  } catch (error) {
    if (error instanceof BackendFault) return error
    throw error
  }
  throw new Error('no fault was thrown')
}
