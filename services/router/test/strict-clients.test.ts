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
import type { AiSdk } from '@gateway/testing/client-fixture'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { dialectRoute } from '../src/dialects/dialects.ts'
import type { Json, Said, Spoken } from './target-fixture.ts'
import { TARGETS } from './target-fixtures.ts'

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

/** The providers of each version. */
const SDKS: Record<string, (settings: Settings) => AiSdk> = {
  'AI SDK 5': (settings) => ({ openai: openai5(settings), anthropic: anthropic5(settings) }),
  'AI SDK 6': (settings) => ({ openai: openai6(settings), anthropic: anthropic6(settings) }),
  'AI SDK 7': (settings) => ({ openai: openai7(settings), anthropic: anthropic7(settings) }),
}

const SAID: Record<string, Said> = {
  'a text': { text: 'Hello there' },
  'thoughts and a text': { thoughts: 'Hm', text: 'Hello there' },
  'a call': { calls: [{ name: 'look', input: { city: 'Paris', day: 1 } }] },
  'a text and a call': { text: 'Let me look.', calls: [{ name: 'look', input: { city: 'Paris' } }] },
  'a text that was cut': { text: 'Hello th', end: 'length' },
  'a text that a filter has cut': { text: 'Hello th', end: 'content_filter' },
}

const USAGE = { promptTokens: 9, completionTokens: 4, cachedTokens: 0, reasoningTokens: 0, estimated: false }

/** A gateway of no network: the request is translated, and the backend's words back. */
function gateway(client: ClientDialect, target: TargetDialect, backendResponse: Spoken): typeof fetch {
  const { dialect } = dialectRoute(client, [target])
  return (_url, init) => {
    const { model, stream = false, ...body } = JSON.parse(init!.body as string) as Json
    const question = { kind: 'chat' as const, body: Buffer.from(JSON.stringify(body)), model: model as string }
    const { echo } = dialect.request({ ...question, stream: stream === true, maxTokens: undefined, form: [] })
    const identity = { id: `${CLIENTS[client].idPrefix}own`, created: 1, model: 'm' }
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

const CASES = clientDialects.flatMap((client) =>
  targetDialects.flatMap((target) => Object.keys(SDKS).map((version) => ({ client, target, version }))),
)

describe.each(CASES)('$version reads by $client from a backend of $target', ({ client, target, version }) => {
  test.each(Object.entries(SAID))('%s', async (_, said) => {
    const settings = {
      apiKey: 'svc_key',
      baseURL: 'http://gateway/v1',
      fetch: gateway(client, target, TARGETS[target].say(said)),
    }
    const model = CLIENTS[client].strictModel(SDKS[version]!(settings)) as Model
    const expected = { text: said.text ?? '', calls: (said.calls ?? []).map(({ input }) => input) }
    expect(await generated(model)).toEqual(expected)
    expect(await streamed(model)).toEqual(expected)
  })
})
