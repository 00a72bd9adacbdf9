/**
 * The requests of a client of OpenAI's convention, as the Messages API's published examples write them. The examples
 * are in platform.claude.com/docs (structured outputs, adaptive and extended thinking, prompt caching, PDF support),
 * read in November 2026.
 */

import { describe, expect, test } from 'vitest'
import { BackendFault } from '../../core/backend-fault.ts'
import { writeMessagesRequest } from './request.ts'

type Json = Record<string, unknown>

const NEW = 'claude-opus-4-8'
const OLD = 'claude-opus-4-1-20250805'
const SONNET_4_6 = 'claude-sonnet-4-6'
const SONNET_4 = 'claude-sonnet-4-20250514'
const REQUEST = [{ role: 'user', content: 'x' }]
const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, email: { type: 'string' } },
  required: ['name', 'email'],
  additionalProperties: false,
}
const TOOL = { type: 'function', function: { name: 'look', parameters: SCHEMA, strict: true } }
const LOOP = [
  ...REQUEST,
  { role: 'assistant', tool_calls: [{ id: 't1', function: { name: 'look', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 't1', content: '72' },
]
const jsonSchema = { type: 'json_schema', json_schema: { name: 'contact', schema: SCHEMA, strict: true } }

function write(chat: Json, model = NEW): { request: Json; dropped: string[] } {
  const body = Buffer.from(JSON.stringify({ messages: REQUEST, ...chat }))
  const clientRequest = { kind: 'chat', body, model, stream: false, maxTokens: 16_000, form: [] } as const
  const written = writeMessagesRequest(clientRequest)
  return { request: JSON.parse(written.body.toString()) as Json, dropped: written.dropped }
}

const FORCED = { type: 'tool', name: 'svc_answer_in_json' }

describe('a response in JSON', () => {
  test.each<[string, string, Json, Json, string[]]>([
    [
      'by a schema is a structured output',
      NEW,
      { response_format: jsonSchema },
      { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
      [],
    ],
    [
      'beside tools, too',
      NEW,
      { response_format: jsonSchema, tools: [TOOL] },
      { output_config: { format: { type: 'json_schema', schema: SCHEMA } }, tools: [{ name: 'look', strict: true }] },
      [],
    ],
    [
      'by a schema is a forced tool of an older model',
      OLD,
      { response_format: jsonSchema },
      { tool_choice: FORCED, tools: [{ name: FORCED.name, input_schema: SCHEMA }] },
      [],
    ],
    [
      'of any shape is asked for in words: a tool without a schema is called with nothing',
      NEW,
      { response_format: { type: 'json_object' } },
      { system: expect.stringMatching(/one JSON object/) as string },
      [],
    ],
    [
      'of any shape beside tools cannot be promised, and the client is told',
      NEW,
      { response_format: { type: 'json_object' }, tools: [TOOL] },
      { tools: [{ name: 'look' }] },
      ['response_format'],
    ],
    ['of text is no matter', NEW, { response_format: { type: 'text' } }, {}, []],
  ])('%s', (_, model, chat, expected, reported) => {
    const { request, dropped } = write(chat, model)
    expect(request).toMatchObject(expected)
    expect(dropped).toEqual(reported)
    for (const member of ['output_config', 'tool_choice']) expect(member in request).toBe(member in expected)
  })
})

describe('sampling', () => {
  test.each<[string, string, Json, Json, string[]]>([
    [
      'by both is too much for newer models',
      SONNET_4_6,
      { temperature: 0.2, top_p: 0.9 },
      { temperature: 0.2 },
      ['top_p'],
    ],
    ['by the whole of one is by the other', SONNET_4_6, { temperature: 1, top_p: 0.9 }, { top_p: 0.9 }, []],
    ['by the whole of both is by one', SONNET_4_6, { temperature: 0, top_p: 1 }, { temperature: 0 }, []],
    ['is nothing to the newest', NEW, { temperature: 0.2, top_p: 0.9 }, {}, ['temperature', 'top_p']],
    ['by the defaults is missed by nobody', NEW, { temperature: 1, top_p: 1 }, {}, []],
    ['by both is taken by older ones', SONNET_4, { temperature: 0, top_p: 0.9 }, { temperature: 0, top_p: 0.9 }, []],
  ])('%s', (_, model, chat, { temperature, top_p: topP }, reported) => {
    const { request, dropped } = write(chat, model)
    expect([request.temperature, request.top_p, dropped]).toEqual([temperature, topP, reported])
  })
})

test('a text of no word is left out, for the API refuses it', () => {
  const messages = [
    { role: 'system', content: ' ' },
    ...REQUEST,
    { role: 'assistant', content: '\n\n', tool_calls: [{ id: 't1', function: { name: 'look', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 't1', content: [{ type: 'text', text: ' ' }] },
  ]
  const { request } = write({ messages })
  expect(JSON.stringify(request)).not.toMatch(/"text":"\s*"/)
  expect('system' in request).toBe(false)
})

test('a tool without arguments has a schema all the same', () => {
  const tools = [{ type: 'function', function: { name: 'look', parameters: {} } }]
  expect(write({ tools }).request.tools).toEqual([{ name: 'look', input_schema: { type: 'object' } }])
})

describe('an effort', () => {
  const adaptive = (effort: string) => ({ thinking: { type: 'adaptive' }, output_config: { effort } })
  const budget = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } })
  test.each<[string, string, Json, Json, string[]]>([
    ['is the newer models own', NEW, { reasoning_effort: 'high' }, adaptive('high'), []],
    ['that they do not know is the next', NEW, { reasoning_effort: 'minimal' }, adaptive('low'), []],
    ['is a budget of the older ones', OLD, { reasoning_effort: 'medium' }, budget(4_096), []],
    ['leaves the answer a part of its cap', OLD, { reasoning_effort: 'high', max_tokens: 8_000 }, budget(7_999), []],
    ['that no cap has room for is told', OLD, { reasoning_effort: 'low', max_tokens: 500 }, {}, ['reasoning_effort']],
    ['of none thinks not', OLD, { reasoning_effort: 'none' }, {}, []],
    [
      'is nothing to a model that cannot think',
      'claude-3-5-haiku',
      { reasoning_effort: 'low' },
      {},
      ['reasoning_effort'],
    ],
    [
      'does not go with a forced tool',
      NEW,
      { reasoning_effort: 'low', tools: [TOOL], tool_choice: 'required' },
      { tool_choice: { type: 'any' } },
      ['reasoning_effort'],
    ],
    [
      'waits where thoughts before a tool call are lost, which older models want back',
      OLD,
      { reasoning_effort: 'low', messages: LOOP },
      {},
      ['reasoning_effort'],
    ],
    ['goes on there with newer ones', NEW, { reasoning_effort: 'low', messages: LOOP }, adaptive('low'), []],
    [
      'rules out sampling of the client',
      NEW,
      { reasoning_effort: 'low', temperature: 0, top_p: 0.5 },
      adaptive('low'),
      ['temperature', 'top_p'],
    ],
  ])('%s', (_, model, chat, expected, reported) => {
    const { request, dropped } = write(chat, model)
    expect(request).toMatchObject(expected)
    expect(dropped).toEqual(reported)
    expect('thinking' in request).toBe('thinking' in expected)
    if ('thinking' in expected) expect(request).not.toHaveProperty('temperature')
  })
})

describe('content', () => {
  const of = (part: Json) => {
    const { messages } = write({ messages: [{ role: 'user', content: [part] }] }).request
    return (messages as { content: Json[] }[])[0]!.content[0]
  }
  test.each<[string, Json, Json]>([
    [
      'a PDF',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
      {
        type: 'document',
        title: 'a.pdf',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      },
    ],
    [
      'a text',
      { type: 'file', file: { file_data: 'data:text/markdown;charset=utf-8;base64,SGk=' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Hi' } },
    ],
    [
      'an uploaded file',
      { type: 'file', file: { file_id: 'file_1' } },
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
    ],
    [
      'an image by its address',
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    ],
    [
      'a text to be cached',
      { type: 'text', text: 'Long', cache_control: { type: 'ephemeral', ttl: '1h' } },
      { type: 'text', text: 'Long', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ],
  ])('%s', (_, part, block) => expect(of(part)).toEqual(block))

  test('marks for the cache reach the backend from system texts, tools and results', () => {
    const control = { cache_control: { type: 'ephemeral' } }
    const { request } = write({
      ...control,
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Rules', ...control }] },
        { role: 'user', content: 'x' },
        { role: 'tool', tool_call_id: 't1', content: '72', ...control },
      ],
      tools: [{ ...TOOL, ...control }],
    })
    expect(request).toMatchObject({
      ...control,
      system: [{ type: 'text', text: 'Rules', ...control }],
      messages: [{ content: [{ type: 'text' }, { type: 'tool_result', ...control }] }],
      tools: [{ name: 'look', ...control }],
    })
  })
})

describe("a message's own mark for the cache", () => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const text = { type: 'text', text: 'Long' }
  const image = { type: 'image_url', image_url: { url: 'https://a/b.png' } }
  const call = { id: 't1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const called = [...REQUEST, { role: 'assistant', content: null, tool_calls: [call] }]

  test.each<[string, Json[], string]>([
    ["the system's text", [{ role: 'system', content: 'Long', ...mark }, ...REQUEST], 'text'],
    ["the system's parts", [{ role: 'system', content: [text, text], ...mark }, ...REQUEST], 'text'],
    ["the system's picture", [{ role: 'system', content: [text, image], ...mark }, ...REQUEST], 'image'],
    ['a late text of the system', [...REQUEST, { role: 'developer', content: [text], ...mark }], 'text'],
    ["the user's text", [{ role: 'user', content: 'Long', ...mark }], 'text'],
    ["the user's parts", [{ role: 'user', content: [text, image], ...mark }], 'image'],
    ["the model's text", [...REQUEST, { role: 'assistant', content: [text], ...mark }, ...REQUEST], 'text'],
    [
      "the model's calls",
      [...REQUEST, { role: 'assistant', content: 'I look.', tool_calls: [call], ...mark }],
      'tool_use',
    ],
    ["a result's text", [...called, { role: 'tool', tool_call_id: 't1', content: '72', ...mark }], 'tool_result'],
    ["a result's parts", [...called, { role: 'tool', tool_call_id: 't1', content: [text], ...mark }], 'tool_result'],
  ])('reaches the backend once, at the last block of %s', (_, messages, type) => {
    const { request, dropped } = write({ messages })
    expect(marksIn(request)).toEqual([type])
    expect(dropped).toEqual([])
  })

  test('leaves the mark of its last part as it is', () => {
    const own = { ...text, cache_control: { type: 'ephemeral', ttl: '1h' } }
    expect(write({ messages: [{ role: 'user', content: [own], ...mark }] }).request.messages).toEqual([
      { role: 'user', content: [own] },
    ])
  })

  /** The types of the blocks that bear one, at any depth. */
  function marksIn(value: unknown): unknown[] {
    if (typeof value !== 'object' || value === null) return []
    const own = 'cache_control' in value ? [(value as Json).type] : []
    return [...own, ...Object.values(value).flatMap(marksIn)]
  }
})

describe('a parameter that cannot be kept', () => {
  test('and changes no meaning is reported, each by its name', () => {
    const lost = { seed: 1, presence_penalty: 0.1, logit_bias: {}, store: true, verbosity: 'low', metadata: { a: 'b' } }
    expect(write({ ...lost, logprobs: null }).dropped).toEqual(Object.keys(lost).toSorted())
  })

  test.each<[string, Json]>([
    ['n', { n: 2 }],
    ['functions', { functions: [{ name: 'look' }] }],
    ['audio', { audio: { voice: 'alloy' } }],
    ['response_format', { response_format: { type: 'grammar' } }],
    [
      'tool_choice.allowed_tools.tools',
      { tools: [TOOL], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required' } } },
    ],
    ['tools[0].type', { tools: [{ type: 'custom', custom: { name: 'a' } }] }],
    ['messages[0].role', { messages: [{ role: 'function', name: 'f', content: 'x' }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
    ['messages[0].content[0].file', { messages: [{ role: 'user', content: [{ type: 'file', file: {} }] }] }],
    [
      'messages[0].content[0].image_url.url',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png,x' } }] }] },
    ],
  ])('and changes the meaning is refused by its field: %s', (field, chat) => {
    const fault = catchFault(() => write(chat))
    expect(fault.status).toBe(400)
    expect(JSON.parse(fault.body!)).toMatchObject({ error: { param: field } })
  })
})

function catchFault(run: () => unknown): BackendFault {
  try {
    run()
  } catch (error) {
    if (error instanceof BackendFault) return error
  }
  throw new Error('nothing was refused')
}

describe('a chat without a turn of the user', () => {
  test("sends the words of its system as the user's", () => {
    const { request } = write({ messages: [{ role: 'system', content: 'Say hello.' }] })
    expect(request.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Say hello.' }] }])
    expect(request.system).toBeUndefined()
  })

  test('keeps the mark of the cache', () => {
    const part = { type: 'text', text: 'Say hello.', cache_control: { type: 'ephemeral' } }
    const { request } = write({ messages: [{ role: 'developer', content: [part] }] })
    expect(request.messages).toEqual([{ role: 'user', content: [part] }])
  })

  test('and without any word is refused by name', () => {
    const empty = () => write({ messages: [{ role: 'user', content: ' ' }] })
    expect(empty).toThrow(
      expect.objectContaining({ status: 400, body: expect.stringContaining('messages') as string }) as Error,
    )
  })
})

describe('of a chat nothing is lost in silence', () => {
  const PNG = 'data:image/png;base64,AA=='

  test('a picture of the system is shown by the user', () => {
    const content = [
      { type: 'text', text: 'This is our logo.' },
      { type: 'image_url', image_url: { url: PNG } },
    ]
    const { request, dropped } = write({ messages: [{ role: 'system', content }, ...REQUEST] })
    expect(request.system).toBe('This is our logo.')
    expect(request.messages).toMatchObject([{ role: 'user', content: [{ type: 'image' }, { type: 'text' }] }])
    expect(dropped).toEqual([])
  })

  test('a refusal stays between the turns of the user', () => {
    const refused = { role: 'assistant', content: null, refusal: 'I will not.' }
    const { request } = write({ messages: [...REQUEST, refused, ...REQUEST] })
    expect(request.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: 'I will not.' }] },
      { role: 'user' },
    ])
  })

  test('a temperature above the scale is reported', () => {
    const { request, dropped } = write({ temperature: 1.7 }, OLD)
    expect(request.temperature).toBeUndefined()
    expect(dropped).toEqual(['temperature'])
    expect(write({ temperature: 1 }, OLD)).toMatchObject({ request: { temperature: 1 }, dropped: [] })
  })

  test.each(['{"path": "/e', '[1]', '"x"', 'ls -l'])(
    'arguments that are no object reach the model as they are: %s',
    (text) => {
      const call = { id: 'c', type: 'function', function: { name: 'f', arguments: text } }
      const { request } = write({
        messages: [
          ...REQUEST,
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'c', content: 'y' },
        ],
      })
      const input = { invalid_arguments: text }
      expect(request.messages).toMatchObject([{}, { content: [{ type: 'tool_use', input }] }, {}])
    },
  )

  test.each([
    ['auto', 'auto'],
    ['required', 'any'],
  ])('allowed tools cut the list, in the mode %s', (mode, type) => {
    const other = { type: 'function', function: { name: 'hear', parameters: SCHEMA } }
    const tools = [{ type: 'function', function: { name: 'look' } }]
    const { request } = write({
      tools: [TOOL, other],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode, tools } },
      parallel_tool_calls: false,
    })
    expect(request.tools).toMatchObject([{ name: 'look' }])
    expect(request.tools).toHaveLength(1)
    expect(request.tool_choice).toEqual({ type, disable_parallel_tool_use: true })
  })

  test('none of the allowed tools is none at all', () => {
    const { request } = write({
      tools: [TOOL],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } },
    })
    expect(request.tool_choice).toEqual({ type: 'none' })
  })
})
