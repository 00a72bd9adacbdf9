/**
 * Every response and every event that a client of the Responses API gets keeps Open Responses (specification 2026-04-24), at
 * targets of every dialect. `npm run prove open-responses` runs the specification's own suite.
 */

import fc from 'fast-check'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { targetDialects, type TargetDialect } from '@gateway/contracts/vendors'
import { createSseParser } from '@gateway/sse/parse-events'
import { faultsIn, openResponse, streamFaults } from '@gateway/testing/open-responses'
import { dialectRoute } from '../src/dialects/dialects.ts'
import type { Json, Said } from './target-fixture.ts'
import { TARGETS } from './target-fixtures.ts'

const CREATED = 1_790_000_000
const IDENTITY = { id: 'resp_own', created: CREATED, model: 'm', clock: () => CREATED + 2 }
const COUNTED = { promptTokens: 9, completionTokens: 4, cachedTokens: 3, reasoningTokens: 1, estimated: false }

const LOOK = { type: 'function', name: 'look' }
const settings = fc.record(
  {
    instructions: fc.string(),
    temperature: fc.constantFrom(0, 0.5, 2, null),
    top_p: fc.constantFrom(0.5, 1, null),
    presence_penalty: fc.constantFrom(-2, 0.5, null),
    frequency_penalty: fc.constantFrom(-0.5, 2, null),
    max_output_tokens: fc.constantFrom(16, null),
    max_tool_calls: fc.constantFrom(3, null),
    parallel_tool_calls: fc.option(fc.boolean()),
    top_logprobs: fc.constantFrom(0, 2),
    include: fc.constant(['message.output_text.logprobs']),
    metadata: fc.option(fc.constant({ team: 'search' })),
    safety_identifier: fc.option(fc.string()),
    prompt_cache_key: fc.option(fc.string()),
    truncation: fc.constantFrom('auto', 'disabled', null),
    user: fc.string(),
    reasoning: fc.option(
      fc.record({ effort: fc.constantFrom('low', null), summary: fc.constantFrom('auto', null) }, { requiredKeys: [] }),
    ),
    text: fc.option(
      fc.record(
        {
          verbosity: fc.constantFrom('low', null),
          format: fc.constantFrom(
            null,
            { type: 'text' },
            { type: 'json_object' },
            { type: 'json_schema', name: 'a', schema: { type: 'object' } },
            { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true, description: 'x' },
          ),
        },
        { requiredKeys: [] },
      ),
    ),
    tools: fc.constantFrom<Json[] | null>(
      null,
      [],
      [LOOK, { type: 'custom', name: 'patch' }],
      [{ ...LOOK, description: 'Looks', parameters: { type: 'object', properties: { usage: {} } }, strict: true }],
    ),
    tool_choice: fc.constantFrom('auto', 'none', null),
  },
  { requiredKeys: [] },
)

const token = { token: 'a', logprob: -1 }
const logprobs = fc.constantFrom<Json>(
  { content: [{ ...token, bytes: [97], top_logprobs: [{ ...token, bytes: [97] }] }] },
  { content: [{ ...token, bytes: null, top_logprobs: [{ ...token, bytes: null }] }, token] },
)
const words = fc.string({ minLength: 1, maxLength: 9 })
const call = fc.record({ name: fc.constantFrom('look', 'patch', 'other'), input: fc.constant({ input: 'x' }) })
const reply: fc.Arbitrary<Said> = fc.record(
  {
    thoughts: words,
    text: words,
    logprobs,
    refusal: words,
    calls: fc.array(call, { maxLength: 3 }),
    end: fc.constantFrom('stop', 'length', 'content_filter', 'tool_calls'),
  },
  { requiredKeys: ['end'] },
)

/** A backend's response, plain and as the events of a stream. */
interface Backend {
  plain: Json
  stream: string
}

const named = ({ type, ...rest }: Json) => `event: ${String(type)}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`

function spokenBy(target: TargetDialect, said: Said): Backend {
  const { plain, events } = TARGETS[target].say(said)
  const stream = events.map((event) => ('type' in event ? named(event) : `data: ${JSON.stringify(event)}\n\n`)).join('')
  return { plain, stream }
}

/** A server of the API itself writes the response that a translation at a chat target has. */
function byResponses(said: Said, request: Json): Backend {
  const { plain, stream } = relayed('chat', request, spokenBy('chat', said))
  return { plain, stream: stream.map(({ data }) => named(JSON.parse(data) as Json)).join('') }
}

function backendOf(target: TargetDialect, said: Said, request: Json): Backend {
  return target === 'responses' ? byResponses(said, request) : spokenBy(target, said)
}

function relayed(target: TargetDialect, request: Json, { plain, stream }: Backend) {
  const { dialect } = dialectRoute('responses', [target])
  const body = Buffer.from(JSON.stringify(request))
  const clientRequest = { kind: 'chat' as const, body, model: 'm', stream: true, maxTokens: undefined, form: [] }
  const { echo } = dialect.request(clientRequest)
  const read = dialect.readBackendResponse('chat', Buffer.from(JSON.stringify(plain)), IDENTITY, echo)
  const reading = dialect.readStream({ includeUsage: true, choices: 1, identity: IDENTITY, echo })
  const written = createSseParser()
    .push(Buffer.from(stream))
    .flatMap((event) => reading.read(event) ?? [])
  const bytes = Buffer.concat([...written, reading.usageChunk(COUNTED)])
  const counted = dialect.withUsage(read, COUNTED, 'chat')
  return { plain: JSON.parse(counted.toString()) as Json, read, bytes, stream: createSseParser().push(bytes) }
}

function faultsOf({ plain, stream }: ReturnType<typeof relayed>): string[] {
  return [...faultsIn('plain', openResponse, plain), ...streamFaults(stream)]
}

describe.each(targetDialects)('at a target of %s', (target) => {
  test('every response and every event keeps Open Responses', () => {
    fc.assert(
      fc.property(reply, settings, (generated, more) => {
        const request = { input: 'x', ...more }
        expect(faultsOf(relayed(target, request, backendOf(target, generated, request)))).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test('a response that the router cuts at its cap keeps Open Responses', () => {
    const { dialect } = dialectRoute('responses', [target])
    const body = Buffer.from(JSON.stringify({ input: 'x', max_output_tokens: 16 }))
    const clientRequest = { kind: 'chat' as const, body, model: 'm', stream: true, maxTokens: undefined, form: [] }
    const { echo } = dialect.request(clientRequest)
    const reading = dialect.readStream({ includeUsage: true, choices: 1, identity: IDENTITY, echo })
    const generated = { text: 'Hi' }
    const { stream } = backendOf(target, generated, { input: 'x' })
    const written: Buffer[] = []
    for (const event of createSseParser().push(Buffer.from(stream))) {
      written.push(reading.read(event) ?? Buffer.alloc(0))
      if (reading.progress.begun) break
    }
    const bytes = Buffer.concat([...written, reading.cut(), reading.usageChunk(COUNTED)])
    const events = createSseParser().push(bytes)
    expect(streamFaults(events)).toEqual([])
    expect(events.at(-1)!.name).toBe('response.incomplete')
  })
})

const RECORDED = join(import.meta.dirname, 'vendors/recorded')

test.each(readdirSync(RECORDED).filter((file) => file.endsWith('.json')))(
  'the recorded response %s, translated, keeps Open Responses',
  (file) => {
    const plain = JSON.parse(readFileSync(join(RECORDED, file), 'utf8')) as Json
    const stream = readFileSync(join(RECORDED, file.replace(/(?:-tool)?\.json$/, '.sse')), 'utf8')
    const target = 'choices' in plain ? 'chat' : 'messages'
    expect(faultsOf(relayed(target, { input: 'x' }, { plain, stream }))).toEqual([])
  },
)

describe('a server of the Responses API', () => {
  const generated = { thoughts: 'Hm', text: 'Hi', calls: [{ name: 'look', input: { input: 'x' } }], end: 'stop' }
  const request = { input: 'x', temperature: 0.5, tools: [LOOK] }
  const complete = byResponses(generated, request)

  test('whose responses are complete has its bytes', () => {
    const { read, bytes } = relayed('responses', request, complete)
    expect(read.bytes.toString()).toBe(JSON.stringify(complete.plain))
    expect(bytes.toString()).toBe(complete.stream)
  })

  /** Members that clients cannot do without, which no router could invent. */
  const ESSENTIAL = new Set(['id', 'output', 'status', 'usage'])
  const gaps = fc.subarray(Object.keys(complete.plain).filter((name) => !ESSENTIAL.has(name)))
  const nulls = fc.subarray(['temperature', 'top_p', 'text', 'top_logprobs', 'truncation', 'tools', 'service_tier'])
  const holed = (response: Json, missing: string[], empty: string[]): Json => {
    const kept = Object.entries(response).filter(([name]) => !missing.includes(name))
    return Object.fromEntries(kept.map(([name, value]) => [name, empty.includes(name) ? null : value]))
  }

  test('that leaves out members or writes null for them has them filled in, and all else as it wrote it', () => {
    fc.assert(
      fc.property(gaps, nulls, fc.boolean(), fc.boolean(), (missing, empty, isNumbered, isNamed) => {
        const plain = holed(complete.plain, missing, empty)
        const events = createSseParser()
          .push(Buffer.from(complete.stream))
          .map(({ data }): Json => {
            const { sequence_number: number, ...event } = JSON.parse(data) as Json
            const response = event.response ? { response: holed(event.response as Json, missing, empty) } : {}
            return { ...event, ...response, ...(isNumbered ? { sequence_number: number } : {}) }
          })
        const stream = events.map((event) => (isNamed ? named(event) : `data: ${JSON.stringify(event)}\n\n`)).join('')
        const sent = relayed('responses', request, { plain, stream })
        expect(faultsOf(sent)).toEqual([])
        const stays = Object.entries(plain).filter(([name, value]) => value !== null || !empty.includes(name))
        expect(sent.plain).toMatchObject(Object.fromEntries(stays))
        expect(sent.plain.temperature).toBe(0.5)
      }),
      { numRuns: 500 },
    )
  })

  test('that leaves gaps in tools, formats, usage, items and parts has them filled in', () => {
    const part = { type: 'output_text', text: '"},{' }
    const plain = {
      ...complete.plain,
      tools: [{ type: 'function', name: 'look' }, { name: 'x', parameters: { type: 'object' }, type: 'function' }, {}],
      text: { format: { type: 'json_schema', name: 'a' }, verbosity: null },
      reasoning: {},
      usage: { input_tokens: 9, output_tokens: 4, total_tokens: 13, output_tokens_details: null },
      output: [
        { type: 'message', id: 'msg_1', role: 'assistant', content: [{ ...part, logprobs: null }] },
        { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'look', arguments: '{}', status: null },
        { type: 'reasoning', id: 'rs_1' },
        // In vLLM's order (vllm/entrypoints/openai/responses/protocol.py, 2026-11).
        { id: 'rs_2', summary: [], type: 'reasoning', content: null, encrypted_content: null, status: null },
        { phase: null, id: 'msg_2', content: [part], role: 'assistant', status: 'completed', type: 'message' },
      ],
    }
    const { read } = relayed('responses', request, { plain, stream: complete.stream })
    const { tools, ...rest } = JSON.parse(read.bytes.toString()) as Json
    expect(tools).toEqual([
      { type: 'function', name: 'look', description: null, parameters: null, strict: null },
      { type: 'function', name: 'x', parameters: { type: 'object' }, description: null, strict: null },
      {},
    ])
    expect(faultsIn('plain', openResponse, { ...rest, tools: [] })).toEqual([])
  })

  test('that writes null for members that may only be absent has them taken out, wherever they stand', () => {
    const kept = { id: 'rs_1', type: 'reasoning', summary: [] }
    const empty = { encrypted_content: null, content: null }
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...Object.entries(kept), ...Object.entries(empty)], { minLength: 5 }),
        fc.constantFrom(undefined, 1),
        (members, indent) => {
          const plain = { ...complete.plain, output: [Object.fromEntries(members)] }
          const { dialect } = dialectRoute('responses', ['responses'])
          const bytes = Buffer.from(JSON.stringify(plain, null, indent))
          const read = dialect.readBackendResponse('chat', bytes, IDENTITY)
          expect((JSON.parse(read.bytes.toString()) as Json).output).toEqual([kept])
        },
      ),
    )
  })

  test('whose JSON has spaces and lines keeps them', () => {
    const { temperature: _, ...less } = complete.plain
    const text = JSON.stringify(less, null, 2)
    const { dialect } = dialectRoute('responses', ['responses'])
    const body = Buffer.from(JSON.stringify(request))
    const { echo } = dialect.request({ kind: 'chat', body, model: 'm', stream: false, maxTokens: undefined, form: [] })
    const read = dialect.readBackendResponse('chat', Buffer.from(text), IDENTITY, echo)
    expect(read.bytes.toString()).toBe(`${text.slice(0, -1)},"temperature":0.5}`)
  })
})
