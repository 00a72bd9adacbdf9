/**
 * Requests and responses in the shapes of `openai` 7.55 (2026). Its own accumulator is the judge of every stream.
 */

import fc from 'fast-check'
import OpenAI from 'openai'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { describe, expect, test } from 'vitest'
import { ExactNumber, isObject, parseExactly } from '@gateway/contracts/json'
import { responsesRequest } from '@gateway/contracts/responses'
import type { TokenUsage } from '@gateway/contracts/usage'
import { BackendFault } from '../core/backend-fault.ts'
import { createSseParser } from '@gateway/sse/parse-events'
import { chatToMessages } from './chat-to-messages.ts'
import type { Dialect } from './dialect.ts'
import { chatToChat } from './chat-to-chat.ts'
import { viaChat } from './via-chat.ts'
import { responsesToChat } from './responses-to-chat.ts'

type Json = Record<string, unknown>

const IDENTITY = { id: 'resp_0193', created: 1_790_000_000, model: 'of the target' }
const QUESTION = { kind: 'chat', model: 'target', stream: false, maxTokens: undefined, form: [] } as const

const overOpenAi = viaChat(responsesToChat, chatToChat)
const overAnthropic = viaChat(responsesToChat, chatToMessages)

function write(request: object, dialect: Dialect = overOpenAi) {
  const written = dialect.request({ ...QUESTION, body: Buffer.from(JSON.stringify(request)) })
  return { ...written, json: JSON.parse(written.body.toString()) as Json }
}

function messagesOf(request: object): unknown {
  return write(request).json.messages
}

function refusalOf(request: object, dialect = overOpenAi): unknown {
  try {
    write(request, dialect)
  } catch (error) {
    if (error instanceof BackendFault) return (JSON.parse(error.body!) as { error: { param: unknown } }).error.param
    throw error
  }
  return null
}

describe('a request', () => {
  test('is a chat completion with its settings by their names there', () => {
    const { json, path, dropped } = write({
      input: 'Hello',
      instructions: 'Be brief.',
      max_output_tokens: 50,
      temperature: 0.3,
      top_p: 0.9,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_schema', name: 'city', schema: { type: 'object' }, strict: true } },
      user: 'ada',
      store: false,
      metadata: { a: 'b' },
    })
    expect(path).toBe('/chat/completions')
    expect(dropped).toEqual([])
    expect(json).toEqual({
      model: 'target',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
      max_completion_tokens: 50,
      temperature: 0.3,
      top_p: 0.9,
      reasoning_effort: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema: { type: 'object' }, strict: true } },
      user: 'ada',
    })
  })

  test.each([[null], [[]]])('has a message of the user with the content %j as an empty text', (content) => {
    expect(messagesOf({ input: [{ type: 'message', role: 'user', content }] })).toEqual([{ role: 'user', content: '' }])
  })

  test('reports the members that it leaves out', () => {
    const { dropped } = write({
      input: 'x',
      tools: [{ type: 'web_search' }],
      include: ['reasoning.encrypted_content'],
      truncation: 'auto',
      prompt_cache_key: 'k',
      service_tier: 'flex',
      text: { verbosity: 'low' },
    })
    expect(dropped).toEqual([
      'include.reasoning.encrypted_content',
      'prompt_cache_key',
      'service_tier',
      'text.verbosity',
      'tools.web_search',
      'truncation',
    ])
  })

  test("names the members that its target's dialect leaves out as the client does", () => {
    const request = { input: 'x', reasoning: { effort: 'high' }, tools: [NAMED], tool_choice: 'required' }
    expect(write(request, overAnthropic).dropped).toEqual(['reasoning.effort', 'tools.strict'])
  })

  const NAMED = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: true }

  test('has functions, custom tools and namespaces as functions', () => {
    const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' }
    const { json } = write({
      input: 'x',
      tools: [
        NAMED,
        { type: 'custom', name: 'patch', description: 'Patches.', format: grammar },
        { type: 'namespace', name: 'team', description: 'Others', tools: [{ type: 'function', name: 'ask' }] },
      ],
      tool_choice: { type: 'custom', name: 'patch' },
      parallel_tool_calls: false,
    })
    expect(json.tools).toEqual([
      { type: 'function', function: { name: 'look', parameters: { type: 'object' }, strict: true } },
      {
        type: 'function',
        function: {
          name: 'patch',
          description: 'Patches.\n\nThe input must match this lark grammar:\nstart: "a"',
          parameters: expect.objectContaining({ required: ['input'] }) as unknown,
        },
      },
      { type: 'function', function: { name: 'team__ask' } },
    ])
    expect(json.tool_choice).toEqual({ type: 'function', function: { name: 'patch' } })
    expect(json.parallel_tool_calls).toBe(false)
  })

  test('has of the tools only those that are allowed', () => {
    const tools = [NAMED, { ...NAMED, name: 'other' }]
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'other' }] }
    const { json } = write({ input: 'x', tools, tool_choice: allowed })
    expect(json.tools).toEqual([
      expect.objectContaining({ function: expect.objectContaining({ name: 'other' }) as unknown }),
    ])
    expect(json.tool_choice).toBe('required')
  })

  test('a turn is one message, with the results of its calls right behind it', () => {
    expect(
      messagesOf({
        input: [
          { role: 'developer', content: [{ type: 'input_text', text: 'Rules' }] },
          { role: 'user', content: [{ type: 'input_text', text: 'Go' }] },
          { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }] },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Well', annotations: [] }] },
          { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
          { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: '*** x' },
          { role: 'user', content: 'Meanwhile' },
          { type: 'custom_tool_call_output', call_id: 'c2', output: 'ok' },
          { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'seen' }] },
        ],
      }),
    ).toEqual([
      { role: 'system', content: 'Rules' },
      { role: 'user', content: 'Go' },
      {
        role: 'assistant',
        content: 'Well',
        reasoning_content: 'Hm',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } },
          { id: 'c2', type: 'function', function: { name: 'patch', arguments: '{"input":"*** x"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c2', content: 'ok' },
      { role: 'tool', tool_call_id: 'c1', content: 'seen' },
      { role: 'user', content: 'Meanwhile' },
    ])
  })

  test('shows the pictures of a result behind it, in a message of the user', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'original' }
    const call = { type: 'function_call', call_id: 'c1', name: 'view', arguments: '{}' }
    const [, , result, shown] = messagesOf({
      input: [{ role: 'user', content: 'Go' }, call, { type: 'function_call_output', call_id: 'c1', output: [image] }],
    }) as Json[]
    expect(result).toEqual({
      role: 'tool',
      tool_call_id: 'c1',
      content: expect.stringContaining('next message') as unknown,
    })
    expect(shown).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'Result of the call c1:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'high' } },
      ],
    })
  })

  test("shows the pictures of a developer's message to every target, as the user's", () => {
    const rules = {
      role: 'developer',
      content: [
        { type: 'input_text', text: 'Draw so' },
        { type: 'input_image', image_url: 'https://a/b.png' },
      ],
    }
    const request = { input: [{ role: 'user', content: 'Go' }, rules, { role: 'user', content: 'Now' }] }
    const picture = { type: 'image_url', image_url: { url: 'https://a/b.png' } }
    for (const dialect of [overOpenAi, overAnthropic]) {
      expect(JSON.stringify(write(request, dialect).json)).toContain('https://a/b.png')
    }
    expect(messagesOf({ input: [{ ...rules, content: [rules.content[1]] }] })).toEqual([
      { role: 'user', content: [picture] },
    ])
  })

  test('leaves thoughts with the vendor that encrypted them', () => {
    const thought = {
      type: 'reasoning',
      id: 'rs_1',
      encrypted_content: 'x',
      summary: [{ type: 'summary_text', text: 'y' }],
    }
    const request = { input: [{ role: 'user', content: 'Go' }, thought] }
    expect(messagesOf(request)).toEqual([{ role: 'user', content: 'Go' }])
    expect(write(request).dropped).toEqual(['input.reasoning'])
  })

  test.each<[string, object, string]>([
    [
      'a hosted tool that is demanded',
      { input: 'x', tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
      'tool_choice',
    ],
    [
      'a demand where no tool is left',
      { input: 'x', tools: [{ type: 'web_search' }], tool_choice: 'required' },
      'tool_choice',
    ],
    ['a prompt of a vendor', { input: 'x', prompt: { id: 'p' } }, 'prompt'],
    [
      'an image by its id',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'input[0].content[0].image_url',
    ],
    [
      'a file by its address',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'f' }] }] },
      'input[0].content[0].file_data',
    ],
    [
      'a result without a call',
      { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] },
      'input[0].call_id',
    ],
    [
      'a picture that the assistant said',
      { input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: 'u' }] }] },
      'input[0].content[0].type',
    ],
    [
      'texts that only a vendor can read',
      { input: [{ type: 'compaction', encrypted_content: 'x' }] },
      'input[0].encrypted_content',
    ],
    ['an unknown item', { input: [{ type: 'telepathy' }] }, 'input[0].type'],
    ['an input that holds nothing', { input: [{ type: 'web_search_call', id: 'w' }] }, 'input'],
  ])('is refused for %s', (_, request, field) => {
    expect(refusalOf(request)).toBe(field)
  })
})

/** A chat client's conversation, as valid as its backend would have it. */
const text = fc.string({ minLength: 1, maxLength: 12 })
const userMessage = fc.oneof(
  text.map((content) => ({ role: 'user', content })),
  fc.array(text, { minLength: 2, maxLength: 3 }).map((texts) => ({
    role: 'user',
    content: [
      ...texts.map((part) => ({ type: 'text', text: part })),
      { type: 'image_url', image_url: { url: 'https://a/b.png' } },
    ],
  })),
)
/** V8 may read the last letter of a name as a backslash where the letter is escaped (nodejs/node#63785, 2026-06-08). */
const isReadable = (json: string) => !/\\(?:[^u]|u.{4})" *:/.test(json)
const assistantTurn = fc
  .record({
    content: fc.option(text),
    thought: fc.option(text),
    calls: fc.array(
      fc.record({ name: fc.constantFrom('look', 'patch'), args: fc.json().filter(isReadable), result: fc.string() }),
      {
        maxLength: 3,
      },
    ),
  })
  .filter(({ content, calls }) => content !== null || calls.length > 0)
const conversation = fc.record({
  system: fc.option(text),
  turns: fc.array(fc.tuple(userMessage, assistantTurn), { maxLength: 4 }),
  last: userMessage,
})

type Conversation = typeof conversation extends fc.Arbitrary<infer Value> ? Value : never

function chatOf({ system, turns, last }: Conversation): Json[] {
  let count = 0
  const said = turns.flatMap(([user, { content, thought, calls }]) => {
    const named = calls.map((call) => ({ ...call, id: `call_${count++}` }))
    const tool_calls = named.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    }))
    return [
      user,
      {
        role: 'assistant',
        content,
        ...(thought === null ? {} : { reasoning_content: thought }),
        ...(named.length > 0 ? { tool_calls } : {}),
      },
      ...named.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
    ]
  })
  return [...(system === null ? [] : [{ role: 'system', content: system }]), ...said, last]
}

/** As a client of chat moves to the Responses API. */
function inputOf(messages: Json[]): object[] {
  return messages.flatMap((message) => {
    const { role, content, reasoning_content: thought, tool_calls: calls, tool_call_id: callId } = message
    if (role === 'tool') return [{ type: 'function_call_output', call_id: callId, output: content }]
    const items: object[] = []
    if (thought !== undefined) {
      items.push({ type: 'reasoning', id: 'rs', summary: [], content: [{ type: 'reasoning_text', text: thought }] })
    }
    if (content !== null) items.push({ type: 'message', role, content: partsOf(role, content) })
    for (const call of (calls ?? []) as { id: string; function: Json }[]) {
      items.push({ type: 'function_call', call_id: call.id, ...call.function })
    }
    return items
  })
}

function partsOf(role: unknown, content: unknown): unknown {
  if (role === 'assistant') return [{ type: 'output_text', text: content, annotations: [] }]
  if (typeof content === 'string') return [{ type: 'input_text', text: content }]
  return (content as { type: string; text?: string; image_url?: { url: string } }[]).map((part) =>
    part.image_url ? { type: 'input_image', image_url: part.image_url.url } : { type: 'input_text', text: part.text },
  )
}

test('a conversation keeps its meaning on its way from chat to the Responses API and back', () => {
  fc.assert(
    fc.property(conversation, (generated) => {
      const messages = chatOf(generated)
      expect(messagesOf({ input: inputOf(messages) })).toEqual(messages)
    }),
  )
})

const CALLED = ['look', 'patch', 'team__ask']
const TOOLS = [
  { type: 'function', name: 'look', parameters: null, strict: false },
  { type: 'custom', name: 'patch' },
  { type: 'namespace', name: 'team', description: 'd', tools: [{ type: 'function', name: 'ask' }] },
]

/** A request with everything that the translation reads. */
const RICH = {
  input: [
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'custom', name: 'c' }] }],
    },
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'a' }] },
    { role: 'user', content: [{ type: 'input_image', image_url: 'https://a/b.png', detail: 'low' }] },
    { role: 'user', content: [{ type: 'input_file', file_data: 'data:text/plain;base64,AA==', filename: 'f' }] },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'b' }], content: [] },
    {
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'c' },
        { type: 'refusal', refusal: 'd' },
      ],
    },
    { type: 'function_call', call_id: 'c1', name: 'look', namespace: 'n', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'e' },
    { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'f' }] },
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'g' },
    { type: 'web_search_call', id: 'w' },
    { role: 'user', content: 'h' },
  ],
  tools: [...TOOLS, { type: 'custom', name: 'made', format: { type: 'grammar', syntax: 'lark', definition: 'i' } }],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
  text: { format: { type: 'json_schema', name: 'j', schema: {} }, verbosity: 'low' },
  reasoning: { effort: 'low', summary: 'auto' },
  include: ['message.output_text.logprobs'],
  instructions: 'k',
}
const odd = fc.oneof(
  fc.constantFrom('function', 'custom', 'namespace', 'web_search', 'allowed_tools', 'required', 'c1', 'assistant', ''),
  fc.constantFrom('message', 'reasoning', 'function_call', 'input_text', 'input_image', 'input_file', 'input_audio'),
  fc.jsonValue({ maxDepth: 1 }),
)

/** Puts the value where one stands, anywhere in the request; `undefined` takes it out. */
function spoil(request: unknown, at: number, value: unknown): unknown {
  let count = 0
  const visit = (part: unknown): unknown => {
    if (count++ === at) return value
    if (Array.isArray(part)) return part.map(visit)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, visit(one)]))
  }
  return visit(request)
}

test('the router translates each request that the contract lets through, or refuses it with the name of a field', () => {
  const fates = { translated: 0, refused: 0 }
  const spoilt = fc.array(fc.tuple(fc.nat({ max: 130 }), fc.option(odd, { nil: undefined })), { maxLength: 3 })
  fc.assert(
    fc.property(spoilt, (places) => {
      const request = places.reduce((now, [at, value]) => spoil(now, at, value), RICH as unknown) as object
      if (!responsesRequest.safeParse(request).success) return
      const body = JSON.parse(JSON.stringify(request)) as object
      for (const dialect of [overOpenAi, overAnthropic]) {
        fates[refusalOf(body, dialect) === null ? 'translated' : 'refused']++
      }
    }),
    { numRuns: 2_000 },
  )
  expect(Math.min(fates.translated, fates.refused)).toBeGreaterThan(100)
})

/** A response as a backend of chat streams it, in deltas. */
const piece = fc.oneof(
  text.map((content) => ({ content })),
  text.map((reasoning_content) => ({ reasoning_content })),
  text.map((refusal) => ({ refusal })),
  fc.record({ call: fc.nat({ max: 2 }), args: fc.string({ maxLength: 8 }) }),
)
const reply = fc.record({
  pieces: fc.array(piece, { minLength: 1, maxLength: 12 }),
  finish: fc.constantFrom('stop', 'length', 'content_filter', 'tool_calls'),
  summary: fc.constantFrom(null, 'auto'),
})

interface Generated {
  pieces: (Json | { call: number; args: string })[]
  finish: string
  summary: string | null
}

function deltasOf({ pieces }: Generated): Json[] {
  const seen: number[] = []
  return pieces.map((part) => {
    if (!('call' in part)) return part
    const { call, args } = part as { call: number; args: string }
    const isNew = !seen.includes(call)
    if (isNew) seen.push(call)
    const named = isNew ? { id: `call_${call}`, type: 'function' } : {}
    const index = seen.indexOf(call)
    return {
      tool_calls: [{ index, ...named, function: { ...(isNew ? { name: CALLED[call] } : {}), arguments: args } }],
    }
  })
}

const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

function chunksOf(generated: Generated): string {
  const chunk = (rest: object) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'llama',
    ...rest,
  })
  const chunks = [
    chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] }),
    ...deltasOf(generated).map((delta) => chunk({ choices: [{ index: 0, delta, finish_reason: null }] })),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: generated.finish }] }),
    chunk({ choices: [], usage: USAGE }),
  ]
  return [...chunks.map((one) => JSON.stringify(one)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('')
}

/** All that a client reads of a stream, as the relay writes it. */
function relayed(generated: Generated, settings: Json = {}): Buffer {
  const { echo } = write({ input: 'x', tools: TOOLS, reasoning: { summary: generated.summary }, ...settings })
  const reading = overOpenAi.readStream({ includeUsage: true, choices: 1, identity: IDENTITY, echo })
  const events = createSseParser().push(Buffer.from(chunksOf(generated)))
  const written = events.flatMap((event) => reading.read(event) ?? [])
  expect(reading.progress).toMatchObject({ begun: true, complete: true, done: true })
  return Buffer.concat([...written, reading.usageChunk(reading.progress.usage!)])
}

function eventsIn(bytes: Buffer): ResponseStreamEvent[] {
  return createSseParser()
    .push(bytes)
    .map(({ name, data }) => {
      const event = JSON.parse(data) as ResponseStreamEvent
      expect(name).toBe(event.type)
      return event
    })
}

/** By the SDK, from bytes that the network cuts anywhere. */
async function accumulated(bytes: Buffer, cuts: number[]): Promise<Response> {
  const places = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b), bytes.length]
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      places.slice(1).forEach((end, at) => controller.enqueue(bytes.subarray(places[at], end)))
      controller.close()
    },
  })
  const received = new globalThis.Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const client = new OpenAI({
    apiKey: 'k',
    baseURL: 'http://gateway/v1',
    maxRetries: 0,
    fetch: () => Promise.resolve(received),
  })
  return client.responses.stream({ model: 'm', input: 'x' }).finalResponse()
}

/** The members that SDKs add to the responses that they read. */
function withoutParsed(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, member: unknown) =>
      ['output_text', 'parsed', 'parsed_arguments', '_request_id', 'output_parsed'].includes(name) && name !== 'type'
        ? undefined
        : member,
    ),
  )
}

describe('a stream', () => {
  test('is the object that the SDK accumulates, however the network cuts it', async () => {
    await fc.assert(
      fc.asyncProperty(reply, fc.array(fc.nat({ max: 100_000 }), { maxLength: 12 }), async (generated, cuts) => {
        const bytes = relayed(generated)
        const reported = eventsIn(bytes).at(-1) as unknown as { response: Response }
        expect(withoutParsed(await accumulated(bytes, cuts))).toEqual(withoutParsed(reported.response))
      }),
      { numRuns: 60 },
    )
  })

  test('numbers its events one by one, begins with `created` and ends with one terminal event', () => {
    fc.assert(
      fc.property(reply, (generated) => {
        const events = eventsIn(relayed(generated))
        expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
        expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress'])
        const terminal = events.filter(({ type }) => /^response\.(completed|incomplete|failed)$/.test(type))
        expect(terminal).toEqual([events.at(-1)])
      }),
    )
  })

  test('has the JSON that one whole `JSON.stringify` of each event would have written', () => {
    const odd = fc.string({ unit: 'binary', maxLength: 12 })
    const settings = fc.record({ instructions: odd, metadata: fc.dictionary(odd, odd), tools: fc.constant(TOOLS) })
    fc.assert(
      fc.property(fc.array(odd, { minLength: 1 }), odd, settings, (texts, args, request) => {
        const pieces = [...texts.map((content) => ({ content })), { call: 0, args }]
        const bytes = relayed({ pieces, finish: 'stop', summary: null }, request)
        const events = createSseParser().push(bytes)
        for (const { data } of events) expect(JSON.stringify(parseExactly(data))).toBe(data)
        const received = parseExactly(events.at(-1)!.data) as { response: Json }
        expect(received.response).toMatchObject(parseExactly(JSON.stringify(request)) as Json)
      }),
    )
  })

  test('repeats the settings of its request to the byte in each event that holds a whole response', () => {
    const odd = fc.string({ unit: 'binary', maxLength: 12 })
    const exact = fc.bigInt({ min: 2n ** 54n, max: 2n ** 64n }).map((digits) => new ExactNumber(`${digits}.0`))
    const tools = fc.array(fc.record({ type: fc.constant('x'), text: odd, most: exact }), { minLength: 1 })
    fc.assert(
      fc.property(reply, odd, tools, (generated, instructions, tools) => {
        const request: Json = { instructions, tools, metadata: { a: instructions }, background: false }
        const events = createSseParser().push(relayed(generated, request))
        const holders = events.filter(({ data }) => isObject((JSON.parse(data) as Json)['response']))
        expect(holders).toHaveLength(3)
        for (const { data } of holders) {
          for (const [name, value] of Object.entries(request)) {
            expect(data).toContain(`${JSON.stringify(name)}:${JSON.stringify(value)}`)
          }
        }
      }),
    )
  })

  test('opens and closes each item and each part once, with the whole of its pieces', () => {
    fc.assert(fc.property(reply, (generated) => judgeOrder(eventsIn(relayed(generated)))))
  })

  test('writes nothing before the first content', () => {
    const { echo } = write({ input: 'x' })
    const reading = overOpenAi.readStream({ includeUsage: true, choices: 1, identity: IDENTITY, echo })
    const role = { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }
    const [event] = createSseParser().push(Buffer.from(`data: ${JSON.stringify({ choices: [role] })}\n\n`))
    expect(reading.read(event!)).toBeNull()
    expect(reading.progress.begun).toBe(false)
  })
})

/**
 * Every delta belongs to an open item and an open part, and both are closed; the done text is the sum of its deltas.
 */
function judgeOrder(events: ResponseStreamEvent[]): void {
  const items = new Map<number, string>()
  const parts = new Set<string>()
  const sums = new Map<string, string>()
  for (const event of events as unknown as (Json & { type: string; output_index: number })[]) {
    const [, kind, what] = /^response\.(.+)\.(added|delta|done)$/.exec(event.type) ?? []
    if (kind === undefined) continue
    const { output_index: index, item_id: itemId, delta } = event
    const part = `${index} ${String(event.content_index ?? event.summary_index)}`
    if (kind === 'output_item') {
      const { id } = event.item as { id: string }
      expect(items.get(index)).toBe(what === 'added' ? undefined : id)
      expect([...parts].filter((open) => open.startsWith(`${index} `))).toEqual([])
      if (what === 'added') items.set(index, id)
      else items.delete(index)
      continue
    }
    expect(items.get(index)).toBe(itemId)
    if (kind.endsWith('_part')) {
      expect(parts.has(part)).toBe(what === 'done')
      if (what === 'added') parts.add(part)
      else parts.delete(part)
      expect(sums.has(`${part} done`)).toBe(what === 'done')
      continue
    }
    if (!/arguments|input/.test(kind)) expect(parts.has(part)).toBe(true)
    const full = event.text ?? event.refusal ?? event.arguments ?? event.input
    if (what === 'delta') sums.set(part, (sums.get(part) ?? '') + (delta as string))
    else {
      expect(full).toBe(sums.get(part) ?? '')
      sums.set(`${part} done`, '')
    }
  }
  expect([items.size, parts.size]).toEqual([0, 0])
}

/** Texts of one kind that follow each other are one in a plain response, so a stream of that order is compared. */
function inPlainOrder(generated: Generated): Generated {
  const rank = (part: object) => ['reasoning_content', 'content', 'refusal', 'call'].findIndex((name) => name in part)
  return { ...generated, pieces: generated.pieces.toSorted((a, b) => rank(a) - rank(b)) }
}

function completionOf(generated: Generated): Json {
  const message: Json = { role: 'assistant', content: null }
  const calls: { function: { arguments: string } }[] = []
  for (const delta of deltasOf(generated)) {
    for (const [name, value] of Object.entries(delta)) {
      if (name !== 'tool_calls') message[name] = ((message[name] as string | null) ?? '') + (value as string)
      else {
        const [{ index, ...call }] = value as [{ index: number; function: { arguments: string } }]
        const known = calls[index]
        if (known) known.function.arguments += call.function.arguments
        else calls[index] = call
      }
    }
  }
  if (calls.length > 0) message.tool_calls = calls
  const choices = [{ index: 0, message, finish_reason: generated.finish }]
  return { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'llama', choices, usage: USAGE }
}

describe('a plain response', () => {
  test('is the response that the stream of the same response ends with', () => {
    fc.assert(
      fc.property(reply.map(inPlainOrder), (generated) => {
        const { echo } = write({ input: 'x', tools: TOOLS, reasoning: { summary: generated.summary } })
        const bytes = Buffer.from(JSON.stringify(completionOf(generated)))
        const { json, usage } = overOpenAi.readBackendResponse('chat', bytes, IDENTITY, echo)
        const streamed = eventsIn(relayed(generated)).at(-1) as unknown as { response: Json }
        expect(json).toEqual(streamed.response)
        expect(usage).toMatchObject({ promptTokens: 11, completionTokens: 7 })
      }),
    )
  })

  test.each([
    ['tool_calls', '{}'],
    ['length', ''],
  ])('that ends by %s with a call whose arguments are no text has %j for them', (finish, args) => {
    const { echo } = write({ input: 'x', tools: TOOLS })
    const called = { id: 'c', type: 'function', function: { name: 'look', arguments: '' } }
    const choices = [{ index: 0, message: { content: null, tool_calls: [called] }, finish_reason: finish }]
    const bytes = Buffer.from(JSON.stringify({ choices }))
    const { json } = overOpenAi.readBackendResponse('chat', bytes, IDENTITY, echo)
    expect(json.output).toMatchObject([{ type: 'function_call', arguments: args }])
  })

  test('repeats the settings of its request', () => {
    const request = { input: 'x', instructions: 'i', tools: TOOLS, metadata: { a: 'b' }, temperature: 0.2, store: true }
    const { echo } = write(request)
    const completion = completionOf({ pieces: [{ content: 'Hi' }], finish: 'stop', summary: null })
    const { json } = overOpenAi.readBackendResponse('chat', Buffer.from(JSON.stringify(completion)), IDENTITY, echo)
    expect(json).toMatchObject({
      id: 'resp_0193',
      object: 'response',
      status: 'completed',
      model: 'llama',
      instructions: 'i',
      tools: TOOLS,
      metadata: { a: 'b' },
      temperature: 0.2,
      store: false,
      output: [{ type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'Hi' }] }],
      usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
    })
  })

  test('gives custom tools and namespaces their own names back', () => {
    const { echo } = write({ input: 'x', tools: TOOLS })
    const pieces = [
      { call: 1, args: '{"input":"*** Begin"}' },
      { call: 2, args: '{}' },
    ]
    const bytes = Buffer.from(JSON.stringify(completionOf({ pieces, finish: 'tool_calls', summary: null })))
    expect(overOpenAi.readBackendResponse('chat', bytes, IDENTITY, echo).json.output).toMatchObject([
      { type: 'custom_tool_call', name: 'patch', call_id: 'call_1', input: '*** Begin' },
      { type: 'function_call', name: 'ask', namespace: 'team', call_id: 'call_2', arguments: '{}' },
    ])
  })

  test('of a Messages backend is a response, too', () => {
    const { echo } = write({ input: 'x' }, overAnthropic)
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'max_tokens',
      usage: { input_tokens: 3, output_tokens: 2 },
    }
    const { json } = overAnthropic.readBackendResponse('chat', Buffer.from(JSON.stringify(message)), IDENTITY, echo)
    expect(json).toMatchObject({
      model: 'claude',
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ type: 'message', status: 'incomplete' }],
      usage: { input_tokens: 3, output_tokens: 2 },
    })
  })

  test('without usage is counted by its text, and completed', () => {
    const { echo } = write({ input: 'x' })
    const { usage: _, ...completion } = completionOf({
      pieces: [{ content: 'Hi there' }],
      finish: 'stop',
      summary: null,
    })
    const read = overOpenAi.readBackendResponse('chat', Buffer.from(JSON.stringify(completion)), IDENTITY, echo)
    expect(read.usage).toBeNull()
    expect(overOpenAi.textOf(read.json)).toBe('Hi there')
    const counted = { promptTokens: 4, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0, estimated: true }
    const reported = (usage: TokenUsage) => JSON.parse(overOpenAi.withUsage(read, usage, 'chat').toString()) as Json
    expect(reported(counted).usage).toMatchObject({ input_tokens: 4, output_tokens: 2, total_tokens: 6 })
    const details = { cached_tokens: 0, cache_write_tokens: 3 }
    expect(reported({ ...counted, cacheWriteTokens: 3 }).usage).toMatchObject({ input_tokens_details: details })
  })
})
