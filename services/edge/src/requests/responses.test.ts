import { modelConfig, type ServedModelConfig } from '@gateway/contracts/config'
import { parseExactly } from '@gateway/contracts/json'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { responses } from './responses.ts'

const LANE = modelConfig.parse({ id: 'm', pool: 'p', type: 'chat', multiplier: 1 }) as ServedModelConfig
const IMAGE = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' }
const LONG_INTEGER = parseExactly('1152921504606846977')
const LOOK = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: true }

const parsed = (rest: object) => responses({ model: 'svc-best', input: 'Hi', ...rest }, [])
const bodyOf = (rest: object) => JSON.parse(Buffer.from(parsed(rest).body).toString()) as object

describe('a request', () => {
  test('reaches the router as the client wrote it, but for stored members and those that the router writes', () => {
    const rest = { tools: [{ type: 'web_search' }], include: ['reasoning.encrypted_content'], new_member: { a: 1 } }
    expect(bodyOf({ ...rest, stream: true, store: true, max_output_tokens: null })).toEqual({
      input: 'Hi',
      ...rest,
      store: false,
    })
  })

  test('reaches the router with the same JSON, however long and odd its members are', () => {
    const odd = fc.string({ unit: 'binary', maxLength: 20 })
    const long = odd.map((text) => text + 'ä'.repeat(5_000))
    const member = fc.record(
      {
        instructions: fc.oneof(odd, long, fc.constant(null)),
        tools: fc.array(fc.record({ type: fc.constant('x'), text: fc.oneof(odd, long), n: fc.constant(LONG_INTEGER) })),
        metadata: fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), odd),
        unknown: long,
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(member, (rest) => {
        const { body } = parsed({ stream: true, ...rest })
        expect(Buffer.from(body).toString()).toBe(JSON.stringify({ input: 'Hi', ...rest, store: false }))
      }),
    )
  })

  test('may have a message whose content is null', () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'message', role: 'user', content: null },
    ]
    expect(bodyOf({ input })).toEqual({ input, store: false })
  })

  test('is sent in its own dialect, and requests the usage', () => {
    expect(parsed({ stream: true })).toMatchObject({
      kind: 'chat',
      dialect: 'responses',
      stream: true,
      includeUsage: true,
    })
  })

  test.each([
    ['a text', {}, ['chat']],
    ['functions', { tools: [LOOK] }, ['chat', 'tools']],
    ['custom tools', { tools: [{ type: 'custom', name: 'patch' }] }, ['chat', 'tools']],
    ["a vendor's tool, which may be left out", { tools: [{ type: 'web_search' }] }, ['chat']],
    ['a picture', { input: [{ role: 'user', content: [IMAGE] }] }, ['chat', 'vision']],
    [
      'a picture that a tool gave',
      { input: [{ type: 'function_call_output', call_id: 'c', output: [IMAGE] }] },
      ['chat', 'vision'],
    ],
  ])('with %s needs %j of a target', (_, rest, needs) => {
    expect(parsed(rest).needs).toEqual(needs)
  })

  test("shows Auto the user's and the model's messages", () => {
    const { messages } = parsed({
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'What is it?' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A fox.' }] },
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'red' },
      ],
    })
    expect(messages).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'What is it?' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'A fox.' }] },
      { role: 'assistant', content: null },
      { role: 'tool', content: 'red' },
    ])
  })

  test('is bounded from above by its bytes, for all kinds of items', () => {
    const word = fc.string({ minLength: 1, maxLength: 30 })
    const item = fc.oneof(
      fc.record({ role: fc.constantFrom('user', 'developer', 'assistant'), content: word }),
      word.map((text) => ({ role: 'user', content: [{ type: 'input_text', text }] })),
      word.map((text) => ({ type: 'reasoning', summary: [{ type: 'summary_text', text }] })),
      word.map((args) => ({ type: 'function_call', call_id: 'c', name: 'look', arguments: args })),
      word.map((output) => ({ type: 'custom_tool_call_output', call_id: 'c', output })),
      word.map((file_data) => ({ role: 'user', content: [{ type: 'input_file', file_data }] })),
    )
    fc.assert(
      fc.property(fc.array(item, { minLength: 1, maxLength: 5 }), word, (input, instructions) => {
        const texts =
          JSON.stringify(input).match(/"(?:content|text|arguments|output|file_data)":"(?:[^"\\]|\\.)*"/g) ?? []
        const said = texts.map((text) => Object.values(JSON.parse(`{${text}}`) as object)[0] as string)
        const bytes = [...said, instructions].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
        expect(parsed({ input, instructions }).estimate(LANE).maxPromptTokens).toBeGreaterThanOrEqual(bytes)
      }),
    )
  })

  test("caps its output by its own member, else the lane's cap holds", () => {
    expect(parsed({ max_output_tokens: 7 })).toMatchObject({ capsOutput: true, outputCap: 7 })
    expect(parsed({ max_output_tokens: 7 }).estimate(LANE).maxOutputTokens).toBe(7)
    expect(parsed({}).capsOutput).toBe(false)
  })

  test('of one session stays with one backend, by the key that the client gives it', () => {
    expect(parsed({ prompt_cache_key: 'session' }).session).toEqual({ id: 'session', cacheKey: 'session' })
    const first = parsed({ input: [{ role: 'user', content: 'a' }] })
    const next = parsed({
      input: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
      ],
    })
    expect(next.conversationKey!()).toBe(first.conversationKey!())
  })

  test.each([
    [
      { previous_response_id: 'resp_1' },
      'previous_response_id: must be left out: the gateway keeps no responses; send the whole conversation as input',
    ],
    [{ conversation: 'conv_1' }, 'conversation: must be left out'],
    [{ conversation: { id: 'conv_1' } }, 'conversation: must be left out'],
    [{ background: true }, 'background: must be false: ask with stream'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'as clients do with store: false'],
    [
      { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: {} }] },
      'input[0].arguments: must be a string',
    ],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 3 }] }, 'input[0].output: must be a text'],
    [{ input: [{ role: 'user' }] }, 'input[0].content: is required'],
    [{ input: [] }, 'input:'],
    [{ input: undefined }, 'input:'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].name: is required'],
    [{ tool_choice: 'sometimes' }, 'tool_choice:'],
    [{ text: { format: { type: 'xml' } } }, 'text.format.type:'],
    [{ max_output_tokens: 0 }, 'max_output_tokens:'],
    [{ presence_penalty: 3 }, 'presence_penalty:'],
    [{ frequency_penalty: 'much' }, 'frequency_penalty:'],
    [{ max_tool_calls: 0 }, 'max_tool_calls:'],
    [{ safety_identifier: 5 }, 'safety_identifier:'],
  ])('%j is refused with %s', (rest, message) => {
    expect(() => parsed(rest)).toThrow(message)
  })
})

test('items of tools that a vendor runs are counted, for all contents', () => {
  const item = { type: 'shell_call_output', call_id: 'c', output: [null, { stdout: 'x'.repeat(1_000) }] }
  expect(parsed({ input: [item] }).estimate(LANE).maxPromptTokens).toBeGreaterThan(1_000)
})

test.each([[{ background: false }], [{ previous_response_id: null, conversation: null }]])(
  '%j requests nothing',
  (rest) => {
    expect(parsed(rest).messages).toEqual([{ role: 'user', content: 'Hi' }])
  },
)
