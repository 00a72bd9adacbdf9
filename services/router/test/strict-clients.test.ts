/**
 * The strictest clients that there are read every response of ours, plain and streamed, from a backend of every
 * dialect. Vercel's AI SDK of three versions checks each object against a schema and fails at null where a member may
 * be absent.
 */

import { createAnthropic as anthropic5 } from 'ai-sdk-5-anthropic'
import { createOpenAI as openai5 } from 'ai-sdk-5-openai'
import { createAnthropic as anthropic6 } from 'ai-sdk-6-anthropic'
import { createOpenAI as openai6 } from 'ai-sdk-6-openai'
import { createAnthropic as anthropic7 } from 'ai-sdk-7-anthropic'
import { createOpenAI as openai7 } from 'ai-sdk-7-openai'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { describe, expect, test } from 'vitest'
import { createSseParser } from '@gateway/sse/parse-events'
import { dialectRoute } from '../src/dialects/dialects.ts'

type Json = Record<string, unknown>

/** The parts of every version's model that are used here. */
interface Model {
  doGenerate(options: unknown): PromiseLike<{ content: Part[] }>
  doStream(options: unknown): PromiseLike<{ stream: ReadableStream<Part> }>
}
interface Part {
  type: string
  text?: string
  delta?: string
  toolName?: string
  input?: unknown
  error?: unknown
}
interface Settings {
  apiKey: string
  baseURL: string
  fetch: typeof fetch
}

const CLIENTS: Record<ClientDialect, Record<string, (settings: Settings) => unknown>> = {
  chat: {
    'AI SDK 5': (settings) => openai5(settings).chat('gpt-5'),
    'AI SDK 6': (settings) => openai6(settings).chat('gpt-5'),
    'AI SDK 7': (settings) => openai7(settings).chat('gpt-5'),
  },
  responses: {
    'AI SDK 5': (settings) => openai5(settings).responses('gpt-5'),
    'AI SDK 6': (settings) => openai6(settings).responses('gpt-5'),
    'AI SDK 7': (settings) => openai7(settings).responses('gpt-5'),
  },
  messages: {
    'AI SDK 5': (settings) => anthropic5(settings)('claude-sonnet-4-5'),
    'AI SDK 6': (settings) => anthropic6(settings)('claude-sonnet-4-5'),
    'AI SDK 7': (settings) => anthropic7(settings)('claude-sonnet-4-5'),
  },
}

/** The backend's words. */
interface Said {
  text?: string
  thoughts?: string
  input?: Json
  end?: 'length' | 'content_filter'
}
const SAID: Record<string, Said> = {
  'a text': { text: 'Hello there' },
  'thoughts and a text': { thoughts: 'Hm', text: 'Hello there' },
  'a call': { input: { city: 'Paris', day: 1 } },
  'a text and a call': { text: 'Let me look.', input: { city: 'Paris' } },
  'a text that was cut': { text: 'Hello th', end: 'length' },
  'a text that a filter has cut': { text: 'Hello th', end: 'content_filter' },
}

interface BackendResponse {
  plain: Json
  events: Json[]
}

const BACKENDS: Record<TargetDialect, (said: Said) => BackendResponse> = {
  chat({ text, thoughts, input, end }) {
    const name = { id: 'chatcmpl-1', created: 1, model: 'm' }
    const call = { id: 't', type: 'function', function: { name: 'look', arguments: JSON.stringify(input) } }
    const reason = end ?? (input ? 'tool_calls' : 'stop')
    const message = {
      role: 'assistant',
      content: text ?? null,
      ...(thoughts ? { reasoning_content: thoughts } : {}),
      ...(input ? { tool_calls: [call] } : {}),
    }
    const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
    const chunk = (delta: Json, finish: string | null = null) => ({
      ...name,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    return {
      plain: { ...name, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: reason }], usage },
      events: [
        chunk({ role: 'assistant', content: '' }),
        ...(thoughts ? [chunk({ reasoning_content: thoughts })] : []),
        ...(text ? [chunk({ content: text.slice(0, 3) }), chunk({ content: text.slice(3) })] : []),
        ...(input ? [chunk({ tool_calls: [{ index: 0, ...call }] })] : []),
        chunk({}, reason),
        { ...name, object: 'chat.completion.chunk', choices: [], usage },
      ],
    }
  },
  messages({ text, thoughts, input, end }) {
    const blocks = [
      ...(thoughts ? [{ type: 'thinking', thinking: thoughts, signature: 's' }] : []),
      ...(text ? [{ type: 'text', text }] : []),
      ...(input ? [{ type: 'tool_use', id: 't', name: 'look', input }] : []),
    ]
    const usage = { input_tokens: 9, output_tokens: 4 }
    const reason = end === 'length' ? 'max_tokens' : end ? 'refusal' : input ? 'tool_use' : 'end_turn'
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }
    return {
      plain: { ...message, content: blocks, stop_reason: reason, stop_sequence: null, usage },
      events: [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage } },
        ...blocks.flatMap((block, index) => [
          { type: 'content_block_start', index, content_block: block },
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 4 } },
        { type: 'message_stop' },
      ],
    }
  },
  responses({ text, thoughts, input, end }) {
    const part = { type: 'output_text', text, annotations: [], logprobs: [] }
    const summary = [{ type: 'summary_text', text: thoughts }]
    const output = [
      ...(thoughts ? [{ type: 'reasoning', id: 'rs_1', summary }] : []),
      ...(text ? [{ type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [part] }] : []),
      ...(input
        ? [
            {
              type: 'function_call',
              id: 'fc_1',
              call_id: 't',
              name: 'look',
              arguments: JSON.stringify(input),
              status: 'completed',
            },
          ]
        : []),
    ]
    const usage = { input_tokens: 9, output_tokens: 4, total_tokens: 13 }
    const details = end ? { reason: end === 'length' ? 'max_output_tokens' : end } : null
    const response = {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      status: end ? 'incomplete' : 'completed',
      incomplete_details: details,
      model: 'm',
      output,
      service_tier: 'default',
      usage,
    }
    const events = [
      { type: 'response.created', response: { ...response, output: [], status: 'in_progress' } },
      ...output.flatMap((item, output_index): Json[] => {
        if (item.type === 'reasoning') {
          const place = { item_id: 'rs_1', output_index, summary_index: 0 }
          return [
            { type: 'response.output_item.added', output_index, item: { ...item, summary: [] } },
            { type: 'response.reasoning_summary_part.added', ...place, part: { type: 'summary_text', text: '' } },
            { type: 'response.reasoning_summary_text.delta', ...place, delta: thoughts },
            { type: 'response.output_item.done', output_index, item },
          ]
        }
        if (item.type === 'message') {
          const place = { item_id: 'msg_1', output_index, content_index: 0 }
          return [
            { type: 'response.output_item.added', output_index, item: { ...item, content: [] } },
            { type: 'response.output_text.delta', ...place, delta: text, logprobs: [] },
            { type: 'response.output_item.done', output_index, item },
          ]
        }
        return [
          { type: 'response.output_item.added', output_index, item: { ...item, arguments: '' } },
          {
            type: 'response.function_call_arguments.delta',
            item_id: 'fc_1',
            output_index,
            delta: JSON.stringify(input),
          },
          { type: 'response.output_item.done', output_index, item },
        ]
      }),
      { type: end ? 'response.incomplete' : 'response.completed', response },
    ]
    return { plain: response, events: events.map((event, sequence_number) => ({ ...event, sequence_number })) }
  },
}

const PREFIXES: Record<ClientDialect, string> = { chat: 'chatcmpl-own', responses: 'resp_own', messages: 'msg_own' }
const USAGE = { promptTokens: 9, completionTokens: 4, cachedTokens: 0, reasoningTokens: 0, estimated: false }

/** A gateway of no network: the request is translated, and the backend's words back. */
function gateway(client: ClientDialect, target: TargetDialect, backendResponse: BackendResponse): typeof fetch {
  const { dialect } = dialectRoute(client, [target])
  return (_url, init) => {
    const { model, stream = false, ...body } = JSON.parse(init!.body as string) as Json
    const question = { kind: 'chat' as const, body: Buffer.from(JSON.stringify(body)), model: model as string }
    const { echo } = dialect.request({ ...question, stream: stream === true, maxTokens: undefined, form: [] })
    const identity = { id: PREFIXES[client], created: 1, model: 'm' }
    if (stream !== true) {
      const reply = dialect.readBackendResponse(
        'chat',
        Buffer.from(JSON.stringify(backendResponse.plain)),
        identity,
        echo,
      )
      const headers = { 'content-type': 'application/json' }
      return Promise.resolve(new Response(new Uint8Array(reply.bytes), { headers }))
    }
    const reading = dialect.readStream({ includeUsage: true, choices: 1, identity, echo })
    const written = backendResponse.events.map((event) => {
      const named = typeof event.type === 'string' ? `event: ${event.type}\n` : ''
      return `${named}data: ${JSON.stringify(event)}\n\n`
    })
    const read = createSseParser()
      .push(Buffer.from(written.join('')))
      .map((event) => reading.read(event))
    const bytes = Buffer.concat([...read, reading.usageChunk(USAGE)].flatMap((pieces) => pieces ?? []))
    const done = client === 'chat' ? 'data: [DONE]\n\n' : ''
    const headers = { 'content-type': 'text/event-stream' }
    return Promise.resolve(new Response(bytes.toString() + done, { headers }))
  }
}

const QUESTION = {
  prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
  tools: [{ type: 'function', name: 'look', inputSchema: { type: 'object', properties: {} } }],
}

interface Seen {
  text: string
  calls: unknown[]
}

async function generated(model: Model): Promise<Seen> {
  const { content } = await model.doGenerate(QUESTION)
  return {
    text: content.flatMap(({ type, text }) => (type === 'text' ? [text] : [])).join(''),
    calls: content.flatMap(({ type, input }) => (type === 'tool-call' ? [parsed(input)] : [])),
  }
}

async function streamed(model: Model): Promise<Seen> {
  const { stream } = await model.doStream(QUESTION)
  const seen: Seen = { text: '', calls: [] }
  for await (const { type, delta, input, error } of stream) {
    if (type === 'error') throw error
    if (type === 'text-delta') seen.text += delta
    if (type === 'tool-call') seen.calls.push(parsed(input))
  }
  return seen
}

const parsed = (input: unknown): unknown => (typeof input === 'string' ? JSON.parse(input) : input)

const VERSIONS = ['AI SDK 5', 'AI SDK 6', 'AI SDK 7']
const CASES = clientDialects.flatMap((client) =>
  targetDialects.flatMap((target) => VERSIONS.map((version) => ({ client, target, version }))),
)

describe.each(CASES)('$version reads by $client from a backend of $target', ({ client, target, version }) => {
  test.each(Object.entries(SAID))('%s', async (_, said) => {
    const settings = {
      apiKey: 'svc_key',
      baseURL: 'http://gateway/v1',
      fetch: gateway(client, target, BACKENDS[target](said)),
    }
    const model = CLIENTS[client][version]!(settings) as Model
    const expected = { text: said.text ?? '', calls: said.input ? [said.input] : [] }
    expect(await generated(model)).toEqual(expected)
    expect(await streamed(model)).toEqual(expected)
  })
})
