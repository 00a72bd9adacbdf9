/**
 * Clients of the Messages API in front of backends that speak chat. Streams are read by the official SDK's own accumulator.
 */

import Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '@gateway/contracts/json'
import { createSseParser } from '@gateway/sse/parse-events'
import { chatToMessages } from './chat-to-messages.ts'
import { messagesFormOf } from '../vendors/claude.ts'
import { thinkingMembers } from './chat-to-messages/thinking.ts'
import { messageOf } from './messages-to-chat/response.ts'
import { writeChat } from './messages-to-chat/request.ts'
import { messagesToChat } from './messages-to-chat.ts'
import { UNSIGNED } from './messages-to-messages/unsigned.ts'
import { chatToChat } from './chat-to-chat.ts'
import { meaningsOf } from '../vendors/meanings.ts'
import { plain } from '../vendors/plain.ts'
import { viaChat } from './via-chat.ts'

const dialect = viaChat(messagesToChat, chatToChat)
const { finishReasons } = meaningsOf(plain)
const IDENTITY = { id: 'msg_own', created: 1_790_000_000, model: 'of-the-target', finishReasons }
const PIXEL = 'iVBORw0KGgo='

function chatOf(request: object): { chat: JsonObject; dropped: string[] } {
  const { chat, dropped } = writeChat({ max_tokens: 10, messages: [], ...request })
  return { chat: JSON.parse(JSON.stringify(chat)) as JsonObject, dropped }
}

const messagesOf = (...messages: object[]) => chatOf({ messages }).chat.messages
const user = (...content: object[]) => messagesOf({ role: 'user', content })

describe('a request', () => {
  test('goes to the path of chat, with the members that the router writes', () => {
    const requested = { max_tokens: 7, messages: [{ role: 'user', content: 'Hi' }], stop_sequences: ['END'], top_k: 5 }
    const body = Buffer.from(JSON.stringify(requested))
    const clientRequest = { kind: 'chat', body, model: 'qwen', stream: true, maxTokens: undefined, form: [] } as const
    const written = dialect.request(clientRequest)
    expect(written.path).toBe('/chat/completions')
    expect(JSON.parse(written.body.toString())).toEqual({
      model: 'qwen',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 7,
      messages: [{ role: 'user', content: 'Hi' }],
      stop: ['END'],
      top_k: 5,
    })
  })

  test('carries the system prompt as one text, before all turns', () => {
    const system = [
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'In French.' },
    ]
    const { chat, dropped } = chatOf({ system, messages: [{ role: 'user', content: 'Hi' }] })
    expect(chat.messages).toEqual([
      { role: 'system', content: 'Be brief.\n\nIn French.' },
      { role: 'user', content: 'Hi' },
    ])
    expect(dropped).toEqual(['cache_control'])
  })

  test('carries a tool conversation: results right after their calls, words and images after them', () => {
    const tools = [{ name: 'look', description: 'Looks', input_schema: { type: 'object', properties: {} } }]
    const { chat, dropped } = chatOf({
      tools,
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      messages: [
        { role: 'user', content: 'Look twice' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Twice?', signature: 'c2ln' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 't1', name: 'look', input: { at: 1 } },
            { type: 'tool_use', id: 't2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: 'a cat' },
            {
              type: 'tool_result',
              tool_use_id: 't2',
              is_error: true,
              content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }],
            },
            { type: 'text', text: 'And?' },
          ],
        },
      ],
    })
    const called = (id: string, input: string) => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: input },
    })
    expect(chat.messages).toEqual([
      { role: 'user', content: 'Look twice' },
      { role: 'assistant', content: 'I look.', tool_calls: [called('t1', '{"at":1}'), called('t2', '{}')] },
      { role: 'tool', tool_call_id: 't1', content: 'a cat' },
      { role: 'tool', tool_call_id: 't2', content: 'The result is attached below.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Result of the call t2:' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
          { type: 'text', text: 'And?' },
        ],
      },
    ])
    expect(chat.tools).toEqual([
      { type: 'function', function: { name: 'look', description: 'Looks', parameters: tools[0]!.input_schema } },
    ])
    expect(chat).toMatchObject({ tool_choice: 'required', parallel_tool_calls: false })
    expect(dropped).toEqual(['is_error', 'thinking'])
  })

  test('has the results of calls right behind them, into however many turns in a row the client cuts them', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://a/b.png' } }
    const result = (id: string, content: unknown) => ({ type: 'tool_result', tool_use_id: id, content })
    const blocks = [result('t1', [image]), { type: 'text', text: 'And?' }, result('t2', '72'), result('t3', [image])]
    const calls = ['t1', 't2', 't3'].map((id) => ({ type: 'tool_use', id, name: 'look', input: {} }))
    const opening = { role: 'user', content: 'Look' }
    const inRow = fc.subarray([1, 2, 3]).map((cuts) => {
      const ends = [...cuts, blocks.length]
      return ends.map((end, at) => ({ role: 'user', content: blocks.slice(ends[at - 1] ?? 0, end) }))
    })
    fc.assert(
      fc.property(inRow, (turns) => {
        const said = { role: 'assistant', content: 'So' }
        const written = messagesOf(
          opening,
          opening,
          { role: 'assistant', content: calls },
          ...turns,
          said,
        ) as JsonObject[]
        const order = written.map(({ role, tool_call_id: id }) => id ?? role)
        expect(order.slice(0, 6)).toEqual(['user', 'user', 'assistant', 't1', 't2', 't3'])
        expect(new Set(order.slice(6, -1))).toEqual(new Set(['user']))
        expect([order.at(-1), JSON.stringify(written).split('https://a/b.png').length]).toEqual(['assistant', 3])
        expect(JSON.stringify(written)).toContain('And?')
      }),
    )
  })

  test('names the call of each picture, beside those of other results and of the user', () => {
    const picture = (name: string) => ({ type: 'image', source: { type: 'url', url: `https://a/${name}` } })
    const result = (id: string, ...content: object[]) => ({ type: 'tool_result', tool_use_id: id, content })
    const [, first, second, shown] = user(
      result('t1', picture('one'), picture('two')),
      result('t2', { type: 'text', text: 'A cat' }, picture('three')),
      result('t3', { type: 'text', text: 'None' }),
      picture('own'),
    ) as JsonObject[]
    expect([first, second]).toMatchObject([{ content: 'A cat' }, { content: 'None' }])
    const part = (name: string) => ({ type: 'image_url', image_url: { url: `https://a/${name}` } })
    const label = (id: string) => ({ type: 'text', text: `Result of the call ${id}:` })
    expect(shown).toEqual({
      role: 'user',
      content: [label('t1'), part('one'), part('two'), label('t2'), part('three'), part('own')],
    })
  })

  test.each<[string, object, object]>([
    [
      'an image by address',
      { type: 'image', source: { type: 'url', url: 'https://a.example/cat.png' } },
      { type: 'image_url', image_url: { url: 'https://a.example/cat.png' } },
    ],
    [
      'a PDF',
      { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
    ],
    [
      'an uploaded document',
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
      { type: 'file', file: { file_id: 'file_1' } },
    ],
  ])('carries %s', (_, block, part) => {
    expect(user(block, block)).toEqual([{ role: 'user', content: [part, part] }])
  })

  test('carries texts of documents and of search results as texts', () => {
    const blocks = [
      { type: 'document', title: 'Rivers', source: { type: 'text', media_type: 'text/plain', data: 'They bend.' } },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'And flow.' }] } },
      {
        type: 'search_result',
        title: 'Roads',
        source: 'https://a.example',
        content: [{ type: 'text', text: 'Straight.' }],
      },
    ]
    const texts = ['Rivers', 'They bend.', 'And flow.', 'Roads\nhttps://a.example', 'Straight.']
    expect(user(...blocks)).toEqual([{ role: 'user', content: texts.map((text) => ({ type: 'text', text })) }])
  })

  test('gives a model of chat its own thoughts back, and none of another vendor', () => {
    const thinking = { type: 'thinking', thinking: 'Hm', signature: UNSIGNED }
    const content = [thinking, { ...thinking, signature: 'c2ln' }, { type: 'text', text: 'Well' }]
    expect(messagesOf({ role: 'assistant', content })).toEqual([
      { role: 'assistant', content: 'Well', reasoning_content: 'Hm' },
    ])
  })

  test('keeps the summary of a conversation that the vendor has compacted', () => {
    const content = [{ type: 'compaction', content: 'They spoke of cats.', encrypted_content: 'x' }]
    expect(messagesOf({ role: 'assistant', content })).toEqual([{ role: 'assistant', content: 'They spoke of cats.' }])
  })

  test('has the properties of a tool without arguments, which OpenAI demands', () => {
    const { chat } = chatOf({ tools: [{ name: 'look', input_schema: { type: 'object' } }] })
    expect(chat.tools).toEqual([
      { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
    ])
  })

  test('has its JSON schema in the request', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'integer' } },
      required: ['a'],
      additionalProperties: false,
    }
    const { chat, dropped } = chatOf({ output_config: { format: { type: 'json_schema', schema } } })
    expect(chat.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema, strict: true },
    })
    expect(dropped).toEqual([])
  })

  test.each<[object, string | undefined, string[]]>([
    [{ output_config: { effort: 'low' } }, 'low', []],
    [{ output_config: { effort: 'xhigh' } }, 'high', []],
    [{ output_config: { effort: 'max' }, thinking: { type: 'adaptive' } }, 'high', []],
    [{ output_config: { effort: 'utter' } }, undefined, ['output_config.effort']],
    [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, 'low', []],
    [{ thinking: { type: 'enabled', budget_tokens: 4_095 } }, 'low', []],
    [{ thinking: { type: 'enabled', budget_tokens: 4_096 } }, 'medium', []],
    [{ thinking: { type: 'enabled', budget_tokens: 31_999 } }, 'high', []],
    [{ thinking: { type: 'enabled', budget_tokens: 1_024 }, output_config: { effort: 'high' } }, 'high', []],
    [{ thinking: { type: 'enabled', budget_tokens: 3 } }, undefined, ['thinking']],
    [{ thinking: { type: 'adaptive' } }, undefined, ['thinking']],
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'low' } }, 'low', ['thinking']],
  ])('thinks as hard as %j requests', (members, effort, lost) => {
    const { chat, dropped } = chatOf(members)
    expect([chat.reasoning_effort, dropped]).toEqual([effort, lost])
  })

  test('an effort becomes the thinking of an older model, and that becomes the effort again', () => {
    for (const effort of ['low', 'medium', 'high']) {
      const form = messagesFormOf('claude-sonnet-4-5')
      const circumstances = { form, maxTokens: 64_000, isForced: false, hasLostThoughts: false }
      expect(chatOf({ thinking: thinkingMembers(effort, circumstances).thinking }).chat.reasoning_effort).toBe(effort)
    }
  })

  test('names the user', () => {
    const userOf = (id: string) => chatOf({ metadata: { user_id: id } }).chat.user
    expect(userOf('u-1')).toBe('u-1')
    const long = userOf(JSON.stringify({ device_id: 'd'.repeat(64) }))
    expect(long).toMatch(/^[\da-f]{64}$/)
    expect(userOf('someone@example.com')).not.toBe(long)
  })

  test.each<[string, object, string[]]>([
    ['a tier, a container', { service_tier: 'auto', container: 'c' }, ['container', 'service_tier']],
    ['a null', { thinking: null, container: null }, []],
    [
      'tools that the vendor runs',
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'auto' } },
      ['tools.web_search_20250305'],
    ],
    ['a hint of a tool', { tools: [{ name: 'a', input_schema: {}, defer_loading: true }] }, ['tools.defer_loading']],
    [
      'calls and results of tools that the vendor ran',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
              { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
              { type: 'text', text: 'Found.' },
            ],
          },
        ],
      },
      ['messages.prefill', 'server_tool_use', 'web_search_tool_result'],
    ],
    [
      'what the vendor did with servers and models of its own',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'mcp_tool_listing', mcp_server_name: 'm', tools: [] },
              { type: 'mcp_tool_use', id: 's', name: 'find', server_name: 'm', input: {} },
              { type: 'mcp_tool_result', tool_use_id: 's', content: [] },
              { type: 'fallback', from: 'a', to: 'b' },
              { type: 'text', text: 'Found.' },
            ],
          },
        ],
      },
      ['fallback', 'mcp_tool_listing', 'mcp_tool_result', 'mcp_tool_use', 'messages.prefill'],
    ],
  ])('reports that it leaves out %s', (_, request, reported) => {
    expect(chatOf(request).dropped).toEqual(reported)
  })

  const refusedBlock = { type: 'container_upload', file_id: 'f' }
  test.each<[string, object, string]>([
    [
      'a block that chat cannot express',
      { messages: [{ role: 'user', content: [refusedBlock] }] },
      'messages[0].content[0].type',
    ],
    [
      'an uploaded image',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      'messages[0].content[0].source.type',
    ],
    [
      'a document by address',
      { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'https://a' } }] }] },
      'messages[0].content[0].source.type',
    ],
    [
      'a must for a tool that is left out',
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'any' } },
      'tool_choice',
    ],
    [
      'the choice of a tool that is left out',
      {
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
        tool_choice: { type: 'tool', name: 'web_search' },
      },
      'tool_choice.name',
    ],
  ])('refuses %s and names the field', (_, request, field) => {
    expect(() => chatOf(request)).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining(field) }),
    )
  })
})

/** V8 may read the last letter of a name as a backslash where the letter is escaped (nodejs/node#63785, 2026-06-08). */
const member = fc.string({ maxLength: 5 }).filter((name) => !/["\\]/.test(name))

describe('there and back', () => {
  // The API refuses texts of no word.
  const text = fc.string({ minLength: 1, maxLength: 20 }).filter((words) => words.trim() !== '')
  const name = fc.constantFrom('look', 'read', 'write')
  const input = fc.dictionary(member, fc.oneof(text, fc.integer(), fc.boolean()), { maxKeys: 3 })
  const image = fc.constantFrom(`data:image/png;base64,${PIXEL}`, 'https://a.example/cat.png')
  const part = fc.oneof(
    text.map((words) => ({ type: 'text', text: words })),
    image.map((url) => ({ type: 'image_url', image_url: { url } })),
  )
  const said = fc.oneof(text, fc.array(part, { minLength: 2, maxLength: 4 }))
  const userTurn = said.map((content) => [{ role: 'user', content }])
  const response = text.map((content) => [{ role: 'assistant', content }])
  const loop = fc
    .tuple(fc.option(text), fc.array(fc.tuple(name, input, text), { minLength: 1, maxLength: 3 }), fc.nat(1_000))
    .map(([content, calls, number]) => [
      {
        role: 'assistant',
        content,
        tool_calls: calls.map(([called, requested], at) => ({
          id: `call_${number}_${at}`,
          type: 'function',
          function: { name: called, arguments: JSON.stringify(requested) },
        })),
      },
      ...calls.map(([, , result], at) => ({ role: 'tool', tool_call_id: `call_${number}_${at}`, content: result })),
      // The API joins turns of one role, so the model speaks next.
      { role: 'assistant', content: 'Done.' },
    ])
  const conversation = fc
    .tuple(
      fc.option(text),
      fc.array(fc.tuple(userTurn, fc.oneof(response, loop)), { minLength: 1, maxLength: 4 }),
      userTurn,
    )
    .map(([system, turns, last]) => [
      ...(system === null ? [] : [{ role: 'system', content: system }]),
      ...turns.flat(2),
      ...last,
    ])
  const tools = fc.uniqueArray(name, { maxLength: 3 }).map((names) =>
    names.map((named) => ({
      type: 'function',
      function: { name: named, description: `To ${named}`, parameters: { type: 'object', properties: {} } },
    })),
  )
  const choice = fc.constantFrom('auto', 'required', 'none', undefined)

  test('a conversation in chat keeps its meaning through the Messages API', () => {
    fc.assert(
      fc.property(conversation, tools, choice, fc.boolean(), (messages, given, chosen, isSingle) => {
        const withTools = given.length === 0 ? {} : { tools: given, ...(chosen ? { tool_choice: chosen } : {}) }
        const single = isSingle && given.length > 0 && chosen !== 'none' ? { parallel_tool_calls: false } : {}
        const chat = { messages, max_tokens: 100, stop: ['END'], temperature: 0.5, user: 'u', ...withTools, ...single }
        const clientRequest = { kind: 'chat', model: 'm', stream: false, maxTokens: undefined, form: [] } as const
        const there = chatToMessages.request({ ...clientRequest, body: Buffer.from(JSON.stringify(chat)) })
        expect(there.dropped).toEqual([])
        const { model: _, ...requested } = JSON.parse(there.body.toString()) as JsonObject
        const back = chatOf(requested)
        // A request for single calls names the default of the choice.
        const expected = { ...chat, ...('parallel_tool_calls' in single && !chosen ? { tool_choice: 'auto' } : {}) }
        expect(back.chat).toEqual(JSON.parse(JSON.stringify(expected)))
        expect(back.dropped).toEqual([])
      }),
      { numRuns: 300 },
    )
  })
})

describe('a whole response', () => {
  const completion = (message: object, finish: string, more: object = {}) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'qwen',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish, ...more }],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 5 },
    },
  })
  const read = (response: object, echo = { showsThinking: true }) =>
    dialect.readBackendResponse('chat', Buffer.from(JSON.stringify(response)), IDENTITY, echo)

  test('is a message, with the cached part of the prompt apart', () => {
    const { bytes, usage } = read(completion({ content: 'Hello' }, 'stop'))
    expect(JSON.parse(bytes.toString())).toEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'qwen',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 40,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 60,
        output_tokens: 20,
        output_tokens_details: { thinking_tokens: 5 },
      },
    })
    expect(usage).toMatchObject({ promptTokens: 100, cachedTokens: 60, completionTokens: 20 })
  })

  test('holds thoughts where the client requested them, calls, and the arguments that are no object', () => {
    const call = (id: string, text: string) => ({ id, type: 'function', function: { name: 'look', arguments: text } })
    const message = {
      reasoning_content: 'Hm.',
      content: null,
      tool_calls: [call('a', '{"x":1}'), call('', '[1'), call('c', '')],
    }
    const { json } = read(completion(message, 'stop'))
    expect(json).toMatchObject({ stop_reason: 'tool_use' })
    expect(json.content).toMatchObject([
      { type: 'thinking', thinking: 'Hm.', signature: UNSIGNED },
      { type: 'tool_use', id: 'a', name: 'look', input: { x: 1 } },
      {
        type: 'tool_use',
        id: expect.stringMatching(/^call_[0-9a-f]{24}$/),
        name: 'look',
        input: { invalid_arguments: '[1' },
      },
      { type: 'tool_use', id: 'c', name: 'look', input: {} },
    ])
    const hidden = read(completion(message, 'stop'), { showsThinking: false })
    expect(hidden.json.content).not.toContainEqual(expect.objectContaining({ type: 'thinking' }))
  })

  test.each<[string, object, string, object, object]>([
    ['the end', { content: 'a' }, 'stop', {}, { stop_reason: 'end_turn', stop_sequence: null }],
    ['its cap', { content: 'a' }, 'length', {}, { stop_reason: 'max_tokens' }],
    ['the end of its window, in Mistral’s word', { content: 'a' }, 'model_length', {}, { stop_reason: 'max_tokens' }],
    ['calls that never came', { content: 'a', tool_calls: [] }, 'tool_calls', {}, { stop_reason: 'end_turn' }],
    ['a filter', { content: '' }, 'content_filter', {}, { stop_reason: 'refusal' }],
    ['a filter, in Google’s word', { content: '' }, 'SAFETY', {}, { stop_reason: 'refusal' }],
    [
      'a stop text that vLLM names',
      { content: 'a' },
      'stop',
      { stop_reason: 'END' },
      { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    ],
    ['a token that vLLM names', { content: 'a' }, 'stop', { stop_reason: 128009 }, { stop_reason: 'end_turn' }],
    [
      'a refusal',
      { content: null, refusal: 'I must not.' },
      'stop',
      {},
      { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: 'I must not.' } },
    ],
  ])('that stopped for %s', (_, message, finish, more, expected) => {
    expect(read(completion(message, finish, more)).json).toMatchObject(expected)
  })

  test.each([
    [
      'tool_use',
      { tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }] },
    ],
    ['end_turn', { tool_calls: [] }],
    ['end_turn', { content: 'I look.' }],
  ])('ends a stream by %s where its target ends by tool_calls behind %j', (reason, delta) => {
    const reading = dialect.readStream({ includeUsage: true, choices: 1, identity: IDENTITY, echo: {} })
    const choices = [{ index: 0, delta, finish_reason: 'tool_calls' }]
    const [event] = createSseParser().push(Buffer.from(`data: ${JSON.stringify({ id: 'c', choices })}\n\n`))
    reading.read(event!)
    const end = reading.usageChunk({
      promptTokens: 1,
      completionTokens: 1,
      cachedTokens: 0,
      reasoningTokens: 0,
      estimated: true,
    })
    expect(end.toString()).toContain(`"stop_reason":"${reason}"`)
  })

  test('has calls by ids that Anthropic takes, too, should the conversation go on there', () => {
    const call = { id: 'functions.look:0', type: 'function', function: { name: 'look', arguments: '{}' } }
    const { content } = read(completion({ content: null, tool_calls: [call] }, 'tool_calls')).json
    expect(content).toEqual([expect.objectContaining({ id: expect.stringMatching(/^[a-zA-Z0-9_-]+$/) })])
  })

  test('without a usage gets the counted one', () => {
    const { usage: _, ...bare } = completion({ content: 'Hello' }, 'stop')
    const response = read(bare)
    expect(response.usage).toBeNull()
    expect(dialect.textOf(response.json)).toBe('Hello')
    const counted = { promptTokens: 3, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0, estimated: true }
    const full = JSON.parse(dialect.withUsage(response, counted, 'chat').toString()) as JsonObject
    expect(full.usage).toMatchObject({ input_tokens: 3, output_tokens: 2 })
  })
})

describe('a stream', () => {
  type Piece =
    | { kind: 'reasoning_content' | 'content'; text: string }
    | { kind: 'call'; index: number; name?: string; fragment: string }

  const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  const said = fc.record({ kind: fc.constantFrom('content' as const, 'reasoning_content' as const), text: word })
  const inputs = fc.dictionary(member, fc.oneof(word, fc.integer()), { maxKeys: 3 })

  /** Calls whose fragments may come in any order among each other, as long as each call's own order holds. */
  const calls = fc.array(fc.tuple(inputs, fc.nat(4)), { minLength: 1, maxLength: 3 }).chain((requested) => {
    const fragments = requested.flatMap(([value, cuts], index) => {
      const json = JSON.stringify(value)
      const size = Math.max(1, Math.ceil(json.length / (cuts + 1)))
      return Array.from({ length: Math.ceil(json.length / size) }, (_, at): Piece => {
        const fragment = json.slice(at * size, (at + 1) * size)
        return { kind: 'call', index, fragment, ...(at === 0 ? { name: `tool_${index}` } : {}) }
      })
    })
    const order = fc.shuffledSubarray(
      fragments.map((_, at) => at),
      { minLength: fragments.length, maxLength: fragments.length },
    )
    return fc.tuple(fc.boolean(), order).map(([isInterleaved, shuffled]) => {
      if (!isInterleaved) return fragments
      const queues = Map.groupBy(fragments, (one) => (one as { index: number }).index)
      return shuffled.map((at) => queues.get((fragments[at] as { index: number }).index)!.shift()!)
    })
  })
  const pieces = fc
    .tuple(fc.array(said, { maxLength: 6 }), fc.option(calls), fc.array(said, { maxLength: 2 }))
    .map(([before, called, after]): Piece[] => [...before, ...(called ?? []), ...after])

  function chunksOf(all: Piece[], saysWhy = true): object[] {
    const chunk = (delta: object, finish: string | null = null) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'qwen',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    const deltas = all.map((piece) => {
      if (piece.kind !== 'call') return { [piece.kind]: piece.text }
      const { index, name, fragment } = piece
      const opening = name === undefined ? {} : { id: `call_${index}`, type: 'function' }
      return { tool_calls: [{ index, ...opening, function: { ...(name ? { name } : {}), arguments: fragment } }] }
    })
    const finish = all.some(({ kind }) => kind === 'call') ? 'tool_calls' : 'stop'
    const usage = { prompt_tokens: 30, completion_tokens: 9, total_tokens: 39 }
    return [
      chunk({ role: 'assistant', content: '' }),
      ...deltas.map((delta) => chunk(delta)),
      // A response without content has its end alone.
      ...(saysWhy || all.length === 0 ? [chunk({}, finish)] : []),
      { ...chunk({}), choices: [], usage },
    ]
  }

  function cut(bytes: Buffer, sizes: number[]): Buffer[] {
    const parts: Buffer[] = []
    for (let at = 0, turn = 0; at < bytes.length; turn++) {
      const size = sizes[turn % sizes.length]!
      parts.push(bytes.subarray(at, at + size))
      at += size
    }
    return parts
  }

  function translated(all: Piece[], sizes: number[], { showsThinking = true, saysWhy = true } = {}): Buffer {
    const text =
      chunksOf(all, saysWhy)
        .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
        .join('') + 'data: [DONE]\n\n'
    const reading = dialect.readStream({ includeUsage: true, choices: 1, identity: IDENTITY, echo: { showsThinking } })
    const parser = createSseParser()
    const out: Buffer[] = []
    for (const piece of cut(Buffer.from(text), sizes)) {
      for (const event of parser.push(piece)) out.push(...[reading.read(event) ?? []].flat())
    }
    expect(reading.progress).toMatchObject({ begun: true, complete: true, done: true })
    return Buffer.concat([...out, reading.usageChunk(reading.progress.usage!)].flat())
  }

  /** The official SDK over a connection that delivers these pieces. */
  function sdkOver(parts: Buffer[]) {
    const response = () =>
      Promise.resolve(
        new Response(ReadableStream.from(parts.map((part) => new Uint8Array(part))), {
          headers: { 'content-type': 'text/event-stream' },
        }),
      )
    const client = new Anthropic({ apiKey: 'k', baseURL: 'http://gateway.example', maxRetries: 0, fetch: response })
    return client.messages.stream({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] })
  }

  /** The same pieces in one response, in the order in which the blocks began. */
  function blocksOf(all: Piece[]): object[] {
    const blocks: { type: string; [field: string]: unknown }[] = []
    const inputOf = new Map<number, string>()
    for (const piece of all) {
      const last = blocks.at(-1)
      if (piece.kind === 'call') {
        if (piece.name)
          blocks.push({ type: 'tool_use', id: `call_${piece.index}`, name: piece.name, index: piece.index })
        inputOf.set(piece.index, (inputOf.get(piece.index) ?? '') + piece.fragment)
      } else if (piece.kind === 'content') {
        if (last?.type === 'text') last.text = String(last.text) + piece.text
        else blocks.push({ type: 'text', text: piece.text })
      } else if (last?.type === 'thinking') last.thinking = String(last.thinking) + piece.text
      else blocks.push({ type: 'thinking', thinking: piece.text, signature: UNSIGNED })
    }
    return blocks.map(({ index, ...block }) =>
      block.type === 'tool_use' ? { ...block, input: JSON.parse(inputOf.get(index as number)!) as object } : block,
    )
  }

  const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 })

  test('is read by the SDK as the message that it reports, however its bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(pieces, sizes, sizes, fc.boolean(), async (all, cutIn, cutOut, saysWhy) => {
        const message = await sdkOver(cut(translated(all, cutIn, { saysWhy }), cutOut)).finalMessage()
        expect(message.content).toMatchObject(blocksOf(all))
        expect(message).toMatchObject({
          id: 'msg_1',
          model: 'qwen',
          stop_reason: all.some(({ kind }) => kind === 'call') ? 'tool_use' : 'end_turn',
          usage: { input_tokens: 30, output_tokens: 9, cache_read_input_tokens: 0 },
        })
      }),
      { numRuns: 200 },
    )
  })

  test('has the events in the order of the API, each block ended before the next begins', () => {
    fc.assert(
      fc.property(pieces, fc.boolean(), fc.boolean(), (all, showsThinking, saysWhy) => {
        const events = createSseParser().push(translated(all, [1_000], { showsThinking, saysWhy }))
        const types = events.map(({ name, data }) => {
          const event = JSON.parse(data) as { type: string; index?: number }
          expect(event.type).toBe(name)
          return event
        })
        expect(types[0]!.type).toBe('message_start')
        expect(types.slice(-2).map(({ type }) => type)).toEqual(['message_delta', 'message_stop'])
        let open: number | null = null
        let next = 0
        for (const { type, index } of types.slice(1, -2)) {
          if (type === 'content_block_start') {
            expect([open, index]).toEqual([null, next++])
            open = index!
          } else expect(index).toBe(open)
          if (type === 'content_block_stop') open = null
        }
        expect(open).toBeNull()
        if (!showsThinking) expect(JSON.stringify(types)).not.toContain('thinking_delta')
      }),
      { numRuns: 200 },
    )
  })

  test('has the JSON that one whole `JSON.stringify` of each event would have written', () => {
    fc.assert(
      fc.property(pieces, fc.boolean(), (all, saysWhy) => {
        for (const { name, data } of createSseParser().push(translated(all, [1_000], { saysWhy }))) {
          const { type, ...members } = JSON.parse(data) as { type: string }
          expect(data).toBe(JSON.stringify({ type: name, ...members }))
          expect(type).toBe(name)
        }
      }),
    )
  })

  test('shows calls as they come: the first ends where the second begins', () => {
    const all: Piece[] = [
      { kind: 'call', index: 0, name: 'a', fragment: '{}' },
      { kind: 'call', index: 1, name: 'b', fragment: '{"x"' },
    ]
    const reading = dialect.readStream({
      includeUsage: true,
      choices: 1,
      identity: IDENTITY,
      echo: { showsThinking: false },
    })
    const [start, first, second] = chunksOf(all).map((chunk) =>
      createSseParser()
        .push(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`))
        .map((event) => reading.read(event)?.toString() ?? '')
        .join(''),
    )
    expect(start).toContain('message_start')
    expect(first).toContain('"partial_json":"{}"')
    expect(second).toMatch(/content_block_stop[^]*content_block_start[^]*"partial_json":"\{\\"x\\""/)
  })

  test('claims no usage before the backend has counted', () => {
    const options = { includeUsage: true, choices: 1, identity: IDENTITY }
    const events = messagesToChat.openStream({ showsThinking: false, keepsState: false }, options)
    const begun = events.take({ id: 'c', model: 'm', choices: [{ delta: { content: 'Hi' } }] })!.toString()
    const usage = { promptTokens: 30, completionTokens: 9, cachedTokens: 8, reasoningTokens: 0, estimated: false }
    const [start, , , end] = createSseParser()
      .push(Buffer.concat([Buffer.from(begun), events.close(usage)].flat()))
      .filter(({ name }) => name !== 'content_block_stop')
      .map(({ data }) => JSON.parse(data) as { message?: { usage: object }; usage?: object })
    expect(start!.message!.usage).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 })
    expect(end!.usage).toMatchObject({ input_tokens: 22, cache_read_input_tokens: 8, output_tokens: 9 })
  })

  test('of a server that numbers no calls reports each call', () => {
    const call = (id: string) => ({ id, type: 'function', function: { name: id, arguments: '{"a":1}' } })
    const events = messagesToChat.openStream(
      { showsThinking: false, keepsState: false },
      { includeUsage: true, choices: 1, identity: IDENTITY },
    )
    const chunk = {
      id: 'c',
      model: 'm',
      choices: [{ delta: { tool_calls: [call('a'), call('b')] }, finish_reason: 'stop' }],
    }
    const written = events.take(chunk)!.toString()
    expect(written.match(/"content_block_start"/g)).toHaveLength(2)
    expect(
      events
        .close({ promptTokens: 1, completionTokens: 1, cachedTokens: 0, reasoningTokens: 0, estimated: false })
        .toString(),
    ).toContain('"stop_reason":"tool_use"')
  })

  test('whose backend reports an error is that failure', () => {
    const reading = dialect.readStream({
      includeUsage: true,
      choices: 1,
      identity: IDENTITY,
      echo: { showsThinking: false },
    })
    const [event] = createSseParser().push(Buffer.from('data: {"error":{"message":"no","code":500}}\n\n'))
    expect(() => reading.read(event!)).toThrow('the backend reported an error inside its answer')
  })
})

test('a plain response and a stream of the same words are the same message', () => {
  const message = { role: 'assistant', content: 'Hello', reasoning: 'Hm.' }
  const completion = { id: 'c', model: 'm', choices: [{ message, finish_reason: 'length' }] }
  const plain = messageOf(completion, null, { showsThinking: true, keepsState: true }, IDENTITY)
  expect(plain.content).toMatchObject([
    { type: 'thinking', thinking: 'Hm.', signature: UNSIGNED },
    { type: 'text', text: 'Hello' },
  ])
  expect(plain.stop_reason).toBe('max_tokens')
})
