/**
 * Clients of chat in front of a backend that speaks the Responses API. Each request says the same as the chat. A
 * response reaches the client whole, however the backend cuts it into events.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BackendFault } from '../core/backend-fault.ts'
import type { ParameterSupport } from '../core/parameter-support.ts'
import { createSseParser } from '@gateway/sse/parse-events'
import { chatToResponses } from './chat-to-responses.ts'

type Json = Record<string, unknown>

const REQUESTED = { messages: [{ role: 'user', content: 'Hi' }] }
const identity = { id: 'chatcmpl-1', created: 5, model: 'asked' }

function written(chat: Json, form: ParameterSupport = []): { sent: Json; dropped: string[] } {
  const body = Buffer.from(JSON.stringify(chat))
  const clientRequest = { kind: 'chat' as const, body, model: 'm', stream: false, maxTokens: undefined, form }
  const { body: sent, dropped, path } = chatToResponses.request(clientRequest)
  expect(path).toBe('/responses')
  return { sent: JSON.parse(sent.toString()) as Json, dropped }
}

const inputOf = (...messages: Json[]) => written({ messages }).sent['input']
const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }

describe('a request', () => {
  test('stores nothing at the backend, and keeps all that both APIs know', () => {
    const same = { temperature: 1.5, top_p: 0.5, user: 'u', metadata: { a: 'b' }, prompt_cache_key: 'k' }
    const { sent, dropped } = written({
      ...REQUESTED,
      ...same,
      max_tokens: 99,
      reasoning_effort: 'low',
      verbosity: 'high',
    })
    expect(sent).toEqual({
      ...same,
      model: 'm',
      input: [{ type: 'message', role: 'user', content: 'Hi' }],
      max_output_tokens: 99,
      reasoning: { effort: 'low' },
      text: { verbosity: 'high' },
      store: false,
    })
    expect(dropped).toEqual([])
  })

  test('says each message in its role: texts, images, files, calls and their outputs', () => {
    const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' }
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"n":12345678901234567.89}' } }
    const custom = { id: 'c2', type: 'custom', custom: { name: 'patch', input: 'x' } }
    const input = inputOf(
      { role: 'developer', content: 'Be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'low' } },
          { type: 'file', file },
        ],
      },
      { role: 'assistant', content: 'So', refusal: 'No', tool_calls: [call, custom] },
      { role: 'tool', tool_call_id: 'c1', content: '7' },
      { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'done' }] },
    )
    expect(input).toEqual([
      { type: 'message', role: 'developer', content: 'Be brief' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'See' },
          { type: 'input_image', image_url: 'https://a/b.png', detail: 'low' },
          { type: 'input_file', ...file },
        ],
      },
      {
        type: 'message',
        id: 'msg_svc_2',
        status: 'completed',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'So', annotations: [] },
          { type: 'refusal', refusal: 'No' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"n":12345678901234567.89}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'x' },
      { type: 'function_call_output', call_id: 'c1', output: '7' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'done' }] },
    ])
  })

  test('arguments that a client wrote as an object are the text of that object', () => {
    const call = (args: unknown) => ({ id: 'c1', type: 'function', function: { name: 'look', arguments: args } })
    const sent = (args: unknown) => inputOf({ role: 'assistant', tool_calls: [call(args)] })
    const item = { type: 'function_call', call_id: 'c1', name: 'look' }
    expect(sent({ at: [1, null] })).toEqual([{ ...item, arguments: '{"at":[1,null]}' }])
    for (const none of [undefined, null]) expect(sent(none)).toEqual([{ ...item, arguments: '{}' }])
    const body = '{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"arguments":{"n":1e400}}}]}]}'
    const clientRequest = { kind: 'chat' as const, model: 'm', stream: false, maxTokens: undefined, form: [] }
    const { body: exact } = chatToResponses.request({ ...clientRequest, body: Buffer.from(body) })
    expect(exact.toString()).toContain('"arguments":"{\\"n\\":1e400}"')
  })

  test('a function stays as strict as the client wrote it, since the API takes it as strict unless it hears otherwise', () => {
    const strict = { ...look, function: { ...look.function, strict: true } }
    const grammar = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } }
    const { sent } = written({
      ...REQUESTED,
      tools: [look, strict, { type: 'custom', custom: { name: 'patch', format: grammar } }],
    })
    expect(sent['tools']).toEqual([
      { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false },
      { type: 'function', name: 'look', parameters: { type: 'object' }, strict: true },
      { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
    ])
  })

  const allowed = { mode: 'required', tools: [{ type: 'function', function: { name: 'look' } }] }
  test.each([
    ['auto', 'auto'],
    ['required', 'required'],
    [
      { type: 'function', function: { name: 'look' } },
      { type: 'function', name: 'look' },
    ],
    [
      { type: 'custom', custom: { name: 'patch' } },
      { type: 'custom', name: 'patch' },
    ],
    [
      { type: 'allowed_tools', allowed_tools: allowed },
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'look' }] },
    ],
  ])('the choice %j among tools stays', (choice, sent) => {
    expect(written({ ...REQUESTED, tools: [look], tool_choice: choice }).sent['tool_choice']).toEqual(sent)
  })

  test('a response in JSON and the probabilities of its tokens are requested in the words of the API', () => {
    const json_schema = { name: 'a', schema: { type: 'object' }, strict: true }
    const { sent } = written({
      ...REQUESTED,
      response_format: { type: 'json_schema', json_schema },
      logprobs: true,
      top_logprobs: 2,
    })
    expect(sent['text']).toEqual({ format: { type: 'json_schema', ...json_schema } })
    expect([sent['include'], sent['top_logprobs']]).toEqual([['message.output_text.logprobs'], 2])
  })

  test('loses the members that the API has no word for, and names them', () => {
    const { sent, dropped } = written({ ...REQUESTED, seed: 1, logit_bias: { 5: 1 }, store: true, presence_penalty: 1 })
    expect(Object.keys(sent).toSorted()).toEqual(['input', 'model', 'store'])
    expect(dropped).toEqual(['logit_bias', 'presence_penalty', 'seed', 'store'])
  })

  test('a parameter that the target has rejected is left out and named', () => {
    const { sent, dropped } = written({ ...REQUESTED, temperature: 1 }, [{ parameter: 'temperature' }])
    expect([sent['temperature'], dropped]).toEqual([undefined, ['temperature']])
  })

  test.each([
    ['n', { n: 2 }],
    ['stop', { stop: ['END'] }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['functions', { functions: [{ name: 'f' }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
  ])('is refused with the name of the field %s where its loss would change the meaning', (field, more) => {
    let thrown: unknown
    try {
      written({ ...REQUESTED, ...more })
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(BackendFault)
    expect((thrown as BackendFault).body).toContain(field)
  })
})

const LOGPROB = { token: 'H', logprob: -1, bytes: [72], top_logprobs: [] }
function output(text: string, ...annotations: Json[]): Text {
  return { type: 'output_text', text, annotations, logprobs: [LOGPROB] }
}
const OUTPUT: Item[] = [
  { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm, so.' }] },
  { type: 'web_search_call', id: 'ws_1', status: 'completed' },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [output('Héllo there')],
  },
  { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'look', arguments: '{"n":1e400}' },
  { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c2', name: 'patch', input: '*** Begin' },
]
const USAGE = { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 7, total_tokens: 16 }
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 9,
  model: 'own',
  status: 'completed',
  service_tier: 'default',
  output: OUTPUT,
  usage: USAGE,
}
const CALLS = [
  { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"n":1e400}' } },
  { id: 'c2', type: 'custom', custom: { name: 'patch', input: '*** Begin' } },
]

const read = (response: Json) =>
  chatToResponses.readBackendResponse('chat', Buffer.from(JSON.stringify(response)), identity)

describe('a response', () => {
  test('is a chat completion with its text, reasoning, calls, probabilities and usage', () => {
    const { json, usage } = read(RESPONSE)
    expect(json).toMatchObject({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 9,
      model: 'own',
      service_tier: 'default',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: { role: 'assistant', content: 'Héllo there', reasoning_content: 'Hm, so.', tool_calls: CALLS },
          logprobs: { content: [LOGPROB], refusal: null },
        },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16, prompt_tokens_details: { cached_tokens: 4 } },
    })
    expect(usage).toMatchObject({ promptTokens: 9, completionTokens: 7, cachedTokens: 4, estimated: false })
  })

  test.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
  ])('that is incomplete for %s ends by %s', (reason, finish) => {
    const { json } = read({ ...RESPONSE, status: 'incomplete', incomplete_details: { reason } })
    expect(json).toMatchObject({ choices: [{ finish_reason: finish }] })
  })

  test('that failed is a fault of the backend, with the status of its code', () => {
    const failed = { ...RESPONSE, status: 'failed', error: { code: 'rate_limit_exceeded', message: 'slow down' } }
    expect(() => read(failed)).toThrow(BackendFault)
  })
})

interface Text extends Json {
  text: string
  annotations: Json[]
}
interface Item extends Json {
  type: string
  summary?: (Json & { text: string })[]
  content?: Text[]
  arguments?: string
  input?: string
}

/** The beginning of a text, in pieces of one character. */
const cut = (text: string, at: number) => text.slice(0, at).split('')

interface Cuts {
  /** Characters of each text that come in pieces. */
  pieces: number
  addsItems: boolean
  endsItems: boolean
  repeatsOutput: boolean
}

/** The events of the response, by a server of these manners. The last event brings all that the others leave out. */
function eventsOf({ pieces, addsItems, endsItems, repeatsOutput }: Cuts, output: Item[] = OUTPUT): Json[] {
  const inPieces = addsItems ? pieces : 0
  const events: Json[] = [{ type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } }]
  output.forEach((item, output_index) => {
    const place = { output_index, item_id: item.id }
    const text = item.summary?.[0]?.text ?? item.content?.[0]?.text ?? item.arguments ?? item.input ?? ''
    const begun = { ...item, ...emptied(item) }
    if (addsItems) events.push({ type: 'response.output_item.added', output_index, item: begun })
    const delta = DELTAS[item.type]
    if (delta) events.push(...cut(text, inPieces).map((piece) => ({ ...delta, ...place, delta: piece })))
    const cited = inPieces > 0 ? (item.content?.[0]?.annotations ?? []) : []
    for (const annotation of cited)
      events.push({ type: 'response.output_text.annotation.added', ...place, content_index: 0, annotation })
    if (endsItems) events.push({ type: 'response.output_item.done', output_index, item })
  })
  const full = { ...RESPONSE, output: repeatsOutput || !endsItems ? output : [] }
  return [...events, { type: 'response.completed', response: full }]
}

const DELTAS: Record<string, Json> = {
  reasoning: { type: 'response.reasoning_summary_text.delta', summary_index: 0 },
  message: { type: 'response.output_text.delta', content_index: 0, logprobs: [] },
  function_call: { type: 'response.function_call_arguments.delta' },
  custom_tool_call: { type: 'response.custom_tool_call_input.delta' },
}

function emptied({ type }: Json): Json {
  if (type === 'function_call') return { arguments: '' }
  if (type === 'custom_tool_call') return { input: '' }
  return type === 'message' ? { content: [] } : type === 'reasoning' ? { summary: [] } : {}
}

interface Delta {
  content?: string
  annotations?: { url_citation: { start_index: number; end_index: number } }[]
  reasoning_content?: string
  tool_calls?: {
    index: number
    id?: string
    type?: string
    function?: Record<string, string>
    custom?: Record<string, string>
  }[]
}

function streamed(events: Json[]) {
  const reading = chatToResponses.readStream({ includeUsage: true, choices: 1, identity })
  const bytes = Buffer.from(
    events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  )
  const chunks = createSseParser()
    .push(bytes)
    .flatMap((event) => reading.chunks(event)) as { choices: { delta: Delta; finish_reason: string | null }[] }[]
  const deltas = chunks.map(({ choices }) => choices[0]!.delta)
  const text = (name: 'content' | 'reasoning_content') => deltas.map((delta) => delta[name] ?? '').join('')
  const calls: { id?: string; type?: string; name?: string; said: string }[] = []
  for (const { index, id, type, function: called, custom } of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
    const call = (calls[index] ??= { id, type, name: (called ?? custom)?.['name'], said: '' })
    call.said += called?.['arguments'] ?? custom?.['input'] ?? ''
  }
  const finishes = chunks.flatMap(({ choices }) => choices[0]!.finish_reason ?? [])
  return {
    content: text('content'),
    reasoning: text('reasoning_content'),
    annotations: deltas.flatMap((delta) => delta.annotations ?? []),
    calls,
    finishes,
    progress: reading.progress,
  }
}

describe('a citation', () => {
  const cite = (start_index: number, end_index: number) => {
    return { type: 'url_citation', start_index, end_index, title: 'A', url: 'https://a' }
  }
  const message = (...content: Text[]): Item => ({ type: 'message', role: 'assistant', content })
  const CITED: Item[] = [
    message(output('I look. 👀🇨🇭 ', cite(2, 6))),
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    message(output('Héllo: 42, ', cite(7, 9), { type: 'file_citation', file_id: 'f', index: 1 }, cite(0, 5))),
    message(output('as told.', cite(0, 2))),
  ]
  const PLACES = ['look', '42', 'Héllo', 'as']

  interface Cited {
    content: string
    annotations: NonNullable<Delta['annotations']>
  }
  const placesIn = ({ content, annotations }: Cited) =>
    annotations.map(({ url_citation: { start_index, end_index } }) =>
      Array.from(content).slice(start_index, end_index).join(''),
    )

  test('of a whole response marks its words in the one text of chat', () => {
    const { json } = read({ ...RESPONSE, output: CITED })
    const [{ message: said }] = json.choices as [{ message: Cited }]
    expect(placesIn(said)).toEqual(PLACES)
  })

  test('of a stream marks them, too, once, however a server cuts and repeats the texts', () => {
    const manners = fc.record({
      pieces: fc.constantFrom(0, 99),
      addsItems: fc.boolean(),
      endsItems: fc.boolean(),
      repeatsOutput: fc.boolean(),
    })
    fc.assert(
      fc.property(manners, (cuts) => {
        expect(placesIn(streamed(eventsOf(cuts, CITED)))).toEqual(PLACES)
      }),
    )
  })

  test('that comes before the last words of its part marks its own', () => {
    const at = { output_index: 1, content_index: 0 }
    const said = streamed([
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'So. ' },
      { type: 'response.output_text.delta', ...at, delta: 'It is 42' },
      { type: 'response.output_text.annotation.added', ...at, annotation: cite(6, 8) },
      { type: 'response.output_text.delta', ...at, delta: ', I think' },
      { type: 'response.output_text.annotation.added', ...at, annotation: cite(12, 17) },
      { type: 'response.completed', response: { ...RESPONSE, output: [] } },
    ])
    expect(placesIn(said)).toEqual(['42', 'think'])
  })
})

describe('a stream', () => {
  test('gives the client each text once, however a server cuts and repeats it', () => {
    const manners = fc.record({
      pieces: fc.nat(14),
      addsItems: fc.boolean(),
      endsItems: fc.boolean(),
      repeatsOutput: fc.boolean(),
    })
    fc.assert(
      fc.property(manners, (cuts) => {
        const { content, reasoning, calls, finishes, progress } = streamed(eventsOf(cuts))
        expect({ content, reasoning }).toEqual({ content: 'Héllo there', reasoning: 'Hm, so.' })
        expect(calls).toEqual([
          { id: 'c1', type: 'function', name: 'look', said: '{"n":1e400}' },
          { id: 'c2', type: 'custom', name: 'patch', said: '*** Begin' },
        ])
        expect(finishes).toEqual(['tool_calls'])
        expect(progress).toMatchObject({ begun: true, complete: true, done: true, usage: { completionTokens: 7 } })
        expect(progress.text.length).toBe('Hm, so.Héllo therelook{"n":1e400}patch*** Begin'.length)
      }),
    )
  })

  test('says a model’s reasoning once where the server shows it and sums it up', () => {
    const at = { output_index: 0, item_id: 'rs_1' }
    const { reasoning } = streamed([
      { type: 'response.created', response: RESPONSE },
      { type: 'response.reasoning_text.delta', ...at, content_index: 0, delta: 'Long.' },
      { type: 'response.reasoning_summary_text.delta', ...at, summary_index: 0, delta: 'Short.' },
      { type: 'response.completed', response: { ...RESPONSE, output: [] } },
    ])
    expect(reasoning).toBe('Long.')
  })

  test('a role alone is no content, and an end without output is a proper end', () => {
    const opening = { type: 'response.created', response: { ...RESPONSE, output: [] } }
    expect(streamed([opening]).progress.begun).toBe(false)
    const { finishes, progress } = streamed([
      opening,
      { type: 'response.completed', response: { ...RESPONSE, output: [] } },
    ])
    expect([finishes, progress.complete]).toEqual([['stop'], true])
  })
})
