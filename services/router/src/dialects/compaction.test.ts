/**
 * Compaction in front of targets of every dialect: the target's request, the client's item, and the next turn with it.
 */

import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import OpenAI from 'openai'
import type { ResponseCreateParamsStreaming } from 'openai/resources/responses/responses'
import { describe, expect, test } from 'vitest'
import { isObject, objectsOf } from '@gateway/contracts/json'
import type { CompactionForm } from '@gateway/contracts/usage-event'
import { compactedResponse, MOST_COMPACTION_PROMPT_BYTES, responsesRequest } from '@gateway/contracts/responses'
import { targetDialects, type TargetDialect } from '@gateway/contracts/vendors'
import type { TokenUsage } from '@gateway/contracts/usage'
import { createSseParser } from '@gateway/sse/parse-events'
import { BackendFault } from '../core/backend-fault.ts'
import { AccountSeal, deriveStateKeys, type StateSeal } from '../core/state-seal.ts'
import { PROMPT } from './compaction/request.ts'
import type { ClientRequest, Dialect } from './dialect.ts'
import { TARGETS } from '../../test/target-fixtures.ts'
import { compactionRoute, dialectRoute } from './dialects.ts'

type Json = Record<string, unknown>

const FORMS: CompactionForm[] = ['endpoint', 'trigger']
const IDENTITY = { id: 'resp_0193', created: 1_790_000_000, model: 'of the target' }
const USAGE: TokenUsage = {
  promptTokens: 9,
  completionTokens: 3,
  cachedTokens: 0,
  reasoningTokens: 0,
  estimated: false,
}
const SUMMARY = 'The user wants a fox; "é" is kept.'

interface StreamEvent {
  type: string
  sequence_number: number
  response?: object
}

interface CountingSeal extends StateSeal {
  sealed: string[]
}

const secret = randomBytes(32).toString('base64url')
const KEYS = deriveStateKeys({ secrets: [{ masterKeyId: '0123456789ab', secret }] })

function sealOf(account: string): CountingSeal {
  const own = new AccountSeal(() => KEYS, account)
  const sealed: string[] = []
  return {
    sealed,
    seal(purpose, plaintext) {
      if (plaintext !== '') sealed.push(plaintext)
      return own.seal(purpose, plaintext)
    },
    open: (purpose, token, member) => own.open(purpose, token, member),
  }
}

function routeOf(form: CompactionForm, target: TargetDialect, atVendor = false): Dialect {
  return compactionRoute(form, [target], atVendor).dialect
}

function write(dialect: Dialect, body: object, rest: Partial<ClientRequest> = {}) {
  const written = dialect.request({
    kind: 'chat',
    model: 'claude-sonnet-4-6',
    stream: false,
    maxTokens: 9_000,
    form: [],
    body: Buffer.from(JSON.stringify(body)),
    ...rest,
  })
  return { ...written, json: JSON.parse(written.body.toString()) as Json }
}

/** A target's plain response of this text. */
const plainOf = (target: TargetDialect, text: string) => TARGETS[target].say({ text }).plain

function compacted(form: CompactionForm, target: TargetDialect, body: object, states: StateSeal): Json {
  const dialect = routeOf(form, target)
  const { echo } = write(dialect, body, { states })
  return dialect.readBackendResponse('chat', Buffer.from(JSON.stringify(plainOf(target, SUMMARY))), IDENTITY, echo).json
}

const withTrigger = (request: { input: unknown[] }) => ({
  ...request,
  input: [...request.input, { type: 'compaction_trigger' }],
})
const requestOf = (form: CompactionForm, request: { input: unknown[] }) =>
  form === 'trigger' ? withTrigger(request) : request

/** Each text has words of its own, so that a count of them is a count of the text. */
const PICTURE = 'data:image/png;base64,iVBORw0KGgo='
function itemsOf(kinds: readonly string[]): Json[] {
  return kinds.flatMap((kind, at): Json[] => {
    const text = `text-${at}-of-${kind}`
    const call = { call_id: `c${at}`, name: kind === 'custom' ? 'patch' : 'look' }
    switch (kind) {
      case 'user':
        return [{ role: 'user', content: text }]
      case 'parts':
        return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
      case 'picture':
        return [
          {
            role: 'user',
            content: [
              { type: 'input_text', text },
              { type: 'input_image', image_url: PICTURE },
            ],
          },
        ]
      case 'developer':
        return [{ role: 'developer', content: text }]
      case 'assistant':
        return [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }]
      case 'thought':
        return [{ type: 'reasoning', id: 'rs_svc_1', summary: [{ type: 'summary_text', text }] }]
      case 'custom':
        return [
          { type: 'custom_tool_call', ...call, input: text },
          { type: 'custom_tool_call_output', call_id: call.call_id, output: `result-${text}` },
        ]
      case 'namespaced':
        return [
          { type: 'function_call', ...call, namespace: 'files', arguments: JSON.stringify({ text }) },
          { type: 'function_call_output', call_id: call.call_id, output: `result-${text}` },
        ]
      default:
        return [
          { type: 'function_call', ...call, arguments: JSON.stringify({ text }) },
          { type: 'function_call_output', call_id: call.call_id, output: `result-${text}` },
        ]
    }
  })
}
const KINDS = ['user', 'parts', 'picture', 'developer', 'assistant', 'thought', 'custom', 'namespaced', 'function']
const conversation = fc.array(fc.constantFrom(...KINDS), { maxLength: 12 }).map((kinds) => itemsOf(['user', ...kinds]))

const occurrences = (text: string, part: string) => text.split(part).length - 1
const textOfUsers = (items: readonly Json[]) => items.filter(({ role }) => role === 'user')

describe.each(targetDialects)('in front of a target that speaks %s', (target) => {
  test.each(FORMS)('the target is requested to summarize the whole conversation, and to call nothing (%s)', (form) => {
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }]
    const bound = fc.record({ input: conversation, hasTools: fc.boolean() })
    fc.assert(
      fc.property(bound, ({ input, hasTools }) => {
        const request = requestOf(form, { input, ...(hasTools ? { tools, tool_choice: 'required' } : {}) })
        const { json } = write(routeOf(form, target), request, { states: sealOf('ada') })
        const sent = JSON.stringify(json)
        expect(occurrences(sent, 'Stop here. Write a summary')).toBe(1)
        for (const item of input) {
          const [, text] = /(text-\d+-of-(?!thought)\w+)/.exec(JSON.stringify(item)) ?? []
          if (text !== undefined) expect(sent).toContain(text)
        }
        const calls = input.some(({ type }) => String(type).endsWith('_call'))
        const choice = isObject(json['tool_choice']) ? json['tool_choice']['type'] : json['tool_choice']
        expect(choice).toBe(calls || hasTools ? 'none' : undefined)
        expect(sent).not.toContain('compaction_trigger')
      }),
      { numRuns: 60 },
    )
  })

  test('the tools of the request stay as they are, so that the prompt cache serves the conversation', () => {
    const tools = [
      { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
      { type: 'custom', name: 'patch' },
    ]
    const request = { tools, input: itemsOf(['user', 'function', 'custom']) }
    const ordinary = write(dialectRoute('responses', [target === 'responses' ? 'chat' : target]).dialect, request)
    const ours = write(routeOf('endpoint', target), request, { states: sealOf('ada') })
    if (target !== 'responses') expect(ours.json['tools']).toEqual(ordinary.json['tools'])
    expect(objectsOf(ours.json['tools'])).toHaveLength(2)
  })

  test('a format of the response is left out and reported: a summary is a text', () => {
    const text = { format: { type: 'json_schema', name: 'a', schema: { type: 'object' } }, verbosity: 'low' }
    const request = { input: itemsOf(['user']), text, include: ['reasoning.encrypted_content'] }
    const { json, dropped } = write(routeOf('endpoint', target), request, { states: sealOf('ada') })
    expect(dropped).toEqual(
      expect.arrayContaining(['text.format', 'text.verbosity', 'include.reasoning.encrypted_content']),
    )
    expect(JSON.stringify(json)).not.toContain('json_schema')
  })

  test('the endpoint returns the messages of the user and one sealed item, and the trigger the item alone', () => {
    fc.assert(
      fc.property(conversation, (input) => {
        const states = sealOf('ada')
        const endpoint = compactedResponse.parse(compacted('endpoint', target, { input }, states))
        const item = {
          id: 'cmp_0193',
          type: 'compaction',
          encrypted_content: expect.stringMatching(/^svc1\./) as string,
        }
        expect(endpoint.output.at(-1)).toEqual(item)
        const kept = endpoint.output.slice(0, -1)
        expect(kept.map(({ type, role, status }) => [type, role, status])).toEqual(
          textOfUsers(input).map(() => ['message', 'user', 'completed']),
        )
        expect(JSON.stringify(kept).match(/text-\d+-of-\w+/g)).toEqual(
          JSON.stringify(textOfUsers(input)).match(/text-\d+-of-\w+/g),
        )
        const response = compacted('trigger', target, withTrigger({ input }), states)
        expect(response['output']).toEqual([item])
        expect(response).toMatchObject({ object: 'response', status: 'completed', usage: { total_tokens: 13 } })
        expect(states.sealed).toEqual([SUMMARY, SUMMARY])
      }),
      { numRuns: 40 },
    )
  })

  test('the next turn holds the summary once, at its place, on a target of every dialect, and no sealed text', () => {
    fc.assert(
      fc.property(conversation, fc.constantFrom(...FORMS), fc.constantFrom(...targetDialects), (input, form, next) => {
        const states = sealOf('ada')
        const { output } = compacted(form, target, requestOf(form, { input }), states) as { output: Json[] }
        const turn = responsesRequest.parse({ input: [...output, { role: 'user', content: 'and now?' }] })
        const { dialect } = dialectRoute('responses', [next])
        const { body } = write(dialect, { input: turn.input }, { states })
        const sent = body.toString()
        const said = JSON.stringify(SUMMARY).slice(1, -1)
        expect(occurrences(sent, said)).toBe(1)
        expect(sent).not.toContain('svc1.')
        expect(sent.indexOf('and now?')).toBeGreaterThan(sent.indexOf(said))
        const users = form === 'endpoint' ? textOfUsers(input) : []
        for (const user of users) {
          const [text] = /text-\d+-of-\w+/.exec(JSON.stringify(user))!
          expect(occurrences(sent, text)).toBe(1)
          expect(sent.indexOf(text)).toBeLessThan(sent.indexOf(said))
        }
        expect(occurrences(sent, PICTURE.slice('data:image/png;base64,'.length))).toBe(
          users.filter((user) => JSON.stringify(user).includes(PICTURE)).length,
        )
      }),
      { numRuns: 120 },
    )
  })

  test('a second compaction summarizes the first one, and returns neither it nor its message', () => {
    const states = sealOf('ada')
    const first = compacted('endpoint', target, { input: itemsOf(['user', 'function']) }, states)
    const input = [...(first['output'] as Json[]), { role: 'user', content: 'more' }]
    const { json } = write(routeOf('endpoint', target), { input }, { states })
    expect(occurrences(JSON.stringify(json), 'The user wants a fox')).toBe(1)
    const { output } = compacted('endpoint', target, { input }, states) as { output: Json[] }
    expect(output.map(({ type }) => type)).toEqual(['message', 'message', 'compaction'])
    expect(JSON.stringify(output)).not.toContain('The user wants a fox')
  })

  test('a forged item, and one of another account, is the request’s own fault: the error names it', () => {
    const { output } = compacted('endpoint', target, { input: itemsOf(['user']) }, sealOf('ada')) as { output: Json[] }
    const forged = { type: 'compaction', encrypted_content: 'svc1.0123456789ab.AAAA' }
    const routes = [dialectRoute('responses', [target]).dialect, ...FORMS.map((form) => routeOf(form, target))]
    for (const [items, states] of [
      [output, sealOf('bob')],
      [[output[0], forged], sealOf('ada')],
    ] as const) {
      for (const dialect of routes)
        expect(refusalOf(dialect, { input: items }, states)).toBe('input[1].encrypted_content')
    }
  })
})

function refusalOf(dialect: Dialect, body: object, states?: StateSeal): unknown {
  try {
    write(dialect, body, states ? { states } : {})
  } catch (error) {
    if (!(error instanceof BackendFault) || error.status !== 400) throw error
    return (JSON.parse(error.body!) as { error: { param: unknown } }).error.param
  }
  return null
}

test.each(['chat', 'messages'] as const)(
  'a vendor’s own item is refused in front of %s, so that one of its own models gets the request',
  (target) => {
    const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAB' }
    const body = { input: [item, { role: 'user', content: 'x' }] }
    expect(refusalOf(dialectRoute('responses', [target]).dialect, body, sealOf('ada'))).toBe(
      'input[0].encrypted_content',
    )
    const { body: sent } = write(dialectRoute('responses', ['responses']).dialect, body, { states: sealOf('ada') })
    expect(sent.toString()).toContain(JSON.stringify(body).slice(1))
  },
)

test('the prompt has no more bytes than admission counts', () => {
  expect(Buffer.byteLength(PROMPT)).toBeLessThanOrEqual(MOST_COMPACTION_PROMPT_BYTES)
})

test('without secrets to seal with, no target is called', () => {
  const away: StateSeal = { seal: () => null, open: () => null }
  for (const states of [away, undefined])
    expect(() => write(routeOf('endpoint', 'chat'), { input: 'x' }, states ? { states } : {})).toThrow('secrets')
})

test('the newest messages of the user that fit are kept', () => {
  const long = (name: string, tokens: number) => ({
    role: 'user',
    content: name + 'x'.repeat(tokens * 4 - name.length),
  })
  const input = [long('old', 20_000), long('huge', 70_000), long('newer', 40_000), long('newest', 20_000)]
  const { output } = compacted('endpoint', 'chat', { input }, sealOf('ada')) as { output: { content?: Json[] }[] }
  expect(output.slice(0, -1).map(({ content }) => /^[a-w]+/.exec(String(content![0]!['text']))![0])).toEqual([
    'newer',
    'newest',
  ])
})

describe('a response without a whole summary is a fault of nobody, and nothing is sealed', () => {
  const said = (message: object, finish_reason = 'stop') => ({
    ...plainOf('chat', ''),
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
  })
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
  const cases: [string, ReturnType<typeof said>][] = [
    ['is empty', said({ content: ' \n' })],
    ['has thoughts alone', said({ reasoning_content: 'Hm.' })],
    ['is a refusal', said({ content: 'x', refusal: 'I cannot.' })],
    ['is cut off', said({ content: 'The user' }, 'length')],
    ['is filtered', said({ content: 'The user' }, 'content_filter')],
    ['calls a tool', said({ content: 'Let me look.', tool_calls: [call] }, 'tool_calls')],
  ]
  test.each(cases)('one that %s, plain', (_, completion) => {
    for (const form of FORMS) {
      const states = sealOf('ada')
      const dialect = routeOf(form, 'chat')
      const { echo } = write(dialect, requestOf(form, { input: itemsOf(['user']) }), { states })
      const bytes = Buffer.from(JSON.stringify(completion))
      expect(faultIn(() => dialect.readBackendResponse('chat', bytes, IDENTITY, echo))).toBe('no_summary')
      expect(states.sealed).toEqual([])
    }
  })

  test.each(cases)('one that %s, streamed', (_, { choices }) => {
    const { message, finish_reason: reason } = choices[0]!
    const states = sealOf('ada')
    const { reading, shown } = streamed([{ delta: message }, { delta: {}, finish_reason: reason }], states)
    expect(shown).toEqual([])
    expect(faultIn(() => reading.usageChunk(USAGE))).toBe('no_summary')
    expect(states.sealed).toEqual([])
  })

  test('a cap of the client’s own that cuts the summary is the request’s fault', () => {
    const dialect = routeOf('trigger', 'chat')
    const request = { ...withTrigger({ input: itemsOf(['user']) }), max_output_tokens: 16 }
    const { echo } = write(dialect, request, { states: sealOf('ada') })
    const bytes = Buffer.from(JSON.stringify(said({ content: 'The user' }, 'length')))
    expect(faultIn(() => dialect.readBackendResponse('chat', bytes, IDENTITY, echo))).toBe('http_400')
  })
})

function faultIn(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    if (error instanceof BackendFault) return error.outcome
    throw error
  }
  return 'none'
}

function streamed(
  choices: readonly Json[],
  states: StateSeal,
  request: object = withTrigger({ input: itemsOf(['user']) }),
) {
  const dialect = routeOf('trigger', 'chat')
  const { echo } = write(dialect, request, { stream: true, states })
  const reading = dialect.readStream({ includeUsage: true, choices: 1, identity: IDENTITY, echo })
  const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
  const chunks = [
    ...choices.map((choice) => ({ model: 'm', choices: [{ index: 0, ...choice }] })),
    { choices: [], usage },
  ]
  const lines = Buffer.from(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`)
  const shown: Buffer[] = []
  const begun: boolean[] = []
  for (const event of createSseParser().push(lines)) {
    const bytes = reading.read(event)
    if (bytes) shown.push(bytes)
    begun.push(reading.progress.begun)
  }
  return { reading, shown, begun }
}

describe('a stream of a compaction', () => {
  const pieces = SUMMARY.split(/(?= )/).map((content) => ({ delta: { content } }))

  test('shows nothing before the summary is whole, and then one item, as the official client reads it', async () => {
    const states = sealOf('ada')
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false }]
    const request = { ...withTrigger({ input: itemsOf(['user', 'function']) }), tools, tool_choice: 'auto' }
    const all = [{ delta: { role: 'assistant', content: '' } }, ...pieces, { delta: {}, finish_reason: 'stop' }]
    const { reading, shown, begun } = streamed(all, states, request)
    expect(shown).toEqual([])
    expect(begun.slice(0, pieces.length + 1)).toEqual(begun.slice(0, pieces.length + 1).map(() => false))
    expect(begun.at(-1)).toBe(true)
    expect(reading.progress.text.kept).toBe(SUMMARY)

    const bytes = reading.usageChunk(USAGE)
    const events = createSseParser()
      .push(bytes)
      .map(({ name, data }) => ({ ...(JSON.parse(data) as StreamEvent), name }))
    expect(events.map(({ type }) => type)).toEqual([
      ...['response.created', 'response.in_progress', 'response.output_item.added', 'response.output_item.done'],
      'response.completed',
    ])
    expect(events.map(({ name }) => name)).toEqual(events.map(({ type }) => type))
    expect(events.map((event) => event.sequence_number)).toEqual([0, 1, 2, 3, 4])
    expect(events[0]!.response).toMatchObject({ status: 'in_progress', output: [], tools, tool_choice: 'auto' })

    const received = new Response(bytes, { headers: { 'content-type': 'text/event-stream' } })
    const fetch = () => Promise.resolve(received)
    const client = new OpenAI({ apiKey: 'k', baseURL: 'http://gateway/v1', maxRetries: 0, fetch })
    const params = { model: 'm', stream: true, ...request } as ResponseCreateParamsStreaming
    const final = await client.responses.stream(params).finalResponse()
    expect(final.output).toMatchObject([{ type: 'compaction', id: 'cmp_0193' }])
    expect(final.usage).toMatchObject({ input_tokens: 9, output_tokens: 3, total_tokens: 12 })
    expect(states.sealed).toEqual([SUMMARY])
  })

  test('of a model that never ends its summary is given up', () => {
    const piece = { delta: { content: 'x'.repeat(1_000_000) } }
    expect(
      faultIn(() =>
        streamed(
          Array.from({ length: 6 }, () => piece),
          sealOf('ada'),
        ),
      ),
    ).toBe('no_summary')
  })
})

describe('a vendor that compacts', () => {
  const request = { input: [{ role: 'user', content: 'x' }], instructions: 'y', prompt_cache_key: 'k' }
  const RESPONSE = {
    id: 'resp_1',
    object: 'response.compaction',
    created_at: 1,
    output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAB' }],
    usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
  }
  const native = routeOf('endpoint', 'responses', true)

  test('gets the client’s own bytes behind the model’s name, at the endpoint of the same name', () => {
    const { path, body, dropped } = write(native, request, { model: 'gpt-6', states: sealOf('ada') })
    expect([path, dropped]).toEqual(['/responses/compact', []])
    expect(body.toString()).toBe(`{"model":"gpt-6",${JSON.stringify(request).slice(1)}`)
  })

  test('gives the client its own bytes', () => {
    const bytes = Buffer.from(JSON.stringify(RESPONSE, null, 1))
    const read = native.readBackendResponse('chat', bytes, IDENTITY)
    expect(read.bytes.toString()).toBe(bytes.toString())
    expect(read.usage).toMatchObject({ promptTokens: 9, completionTokens: 3 })
  })

  test.each([[[]], [[{ type: 'message', role: 'user', content: [] }]]])(
    'that returns no item has compacted nothing',
    (output) => {
      const bytes = Buffer.from(JSON.stringify({ ...RESPONSE, output }))
      expect(faultIn(() => native.readBackendResponse('chat', bytes, IDENTITY))).toBe('no_summary')
    },
  )

  test('gets the trigger and the threshold of its own compaction', () => {
    const context_management = [{ type: 'compaction', compact_threshold: 100_000 }]
    const body = { ...withTrigger(request), context_management }
    const { path, body: sent } = write(routeOf('trigger', 'responses', true), body, { model: 'gpt-6' })
    expect(path).toBe('/responses')
    expect(sent.toString()).toContain(JSON.stringify(body).slice(1))
  })
})

test.each(['chat', 'messages'] as const)(
  'a threshold for compaction is left out in front of %s, and reported',
  (target) => {
    const body = { input: 'x', context_management: [{ type: 'compaction', compact_threshold: 1_000 }] }
    expect(write(dialectRoute('responses', [target]).dialect, body).dropped).toEqual(['context_management'])
  },
)
