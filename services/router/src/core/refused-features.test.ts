import { describe, expect, test } from 'vitest'
import { refusedOf, remember, type FeatureMemory } from './feature-memory.ts'
import {
  NO_FEATURES,
  readRefusedFeatures,
  withoutFlags,
  withoutMembers,
  type SentFeatures,
} from './refused-features.ts'

const SENT: SentFeatures = {
  beta: 'context-1m-2025-08-07, user-profiles-2026-03-01,prompt-caching-scope-2026-01-05',
  body: Buffer.from('{"messages":[]}'),
  headers: undefined,
  refused: NO_FEATURES,
}
const said = (message: string) => JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } })
const unexpected = (flags: string) =>
  `Unexpected value(s) ${flags} for the \`anthropic-beta\` header. Please try again.`
/** The names alone. */
const read = (message: string, sent: Partial<SentFeatures> = {}) =>
  readRefusedFeatures(said(message), { ...SENT, ...sent }).flatMap(({ member, flags }) =>
    member === undefined ? flags.map((flag) => `anthropic-beta.${flag}`) : [member],
  )

describe('a refusal teaches', () => {
  test.each([
    ['a flag', unexpected('`context-1m-2025-08-07`'), ['anthropic-beta.context-1m-2025-08-07']],
    [
      'two flags',
      unexpected('`user-profiles-2026-03-01`, `context-1m-2025-08-07`'),
      ['anthropic-beta.context-1m-2025-08-07', 'anthropic-beta.user-profiles-2026-03-01'],
    ],
    [
      'a flag of which a proxy has left the quotes out',
      unexpected('context-1m-2025-08-07'),
      [`anthropic-beta.context-1m-2025-08-07`],
    ],
    ['nothing of a flag that the client did not send', unexpected('`another-2026-01-01`'), []],
    ['a member', 'context_management: Extra inputs are not permitted', ['context_management']],
    ['a member of a tool', 'tools.11.custom.defer_loading: Extra inputs are not permitted', ['tools.defer_loading']],
    [
      'a member of a hint',
      'system.2.cache_control.ephemeral.scope: Extra inputs are not permitted',
      ['cache_control.scope'],
    ],
    ['nothing of a member with a meaning', 'messages: Extra inputs are not permitted', []],
    ['nothing of a member with a meaning, further down', 'tools.0.input_schema: Extra inputs are not permitted', []],
    ['nothing of a vendor’s own tool', 'tools.3.web_search_20250305.strict: Extra inputs are not permitted', []],
    ['nothing of another complaint', 'max_tokens: must be at least 1', []],
  ])('%s', (_, message, features) => {
    expect(read(message)).toEqual(features)
  })

  test('the flags of a server that names none: all that it was sent', () => {
    expect(read('invalid beta flag', { beta: 'a,b' })).toEqual(['anthropic-beta.a', 'anthropic-beta.b'])
    expect(read('invalid beta flag', { beta: undefined })).toEqual([])
  })

  test('the same where a proxy puts the error into its own', () => {
    const inner = said(unexpected('`context-1m-2025-08-07`'))
    expect(read(inner)).toEqual(['anthropic-beta.context-1m-2025-08-07'])
    expect(read(`litellm.BadRequestError: AnthropicException - ${inner}. Received Model Group=x`)).toEqual([
      'anthropic-beta.context-1m-2025-08-07',
    ])
  })

  test('nothing that it has taught already, so that the retries of a request come to an end', () => {
    const refused = new Set(['anthropic-beta.context-1m-2025-08-07', 'context_management'])
    expect(read(unexpected('`context-1m-2025-08-07`'), { refused })).toEqual([])
    expect(read('context_management: Extra inputs are not permitted', { refused })).toEqual([])
  })

  test.each([unexpected('`context-1m-2025-08-07`'), 'context_management: Extra inputs are not permitted'])(
    'nothing where the client wrote the sentence, which the server repeats: %s',
    (sentence) => {
      const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: sentence }] }))
      expect(read(`Cannot read: ${sentence}`, { body })).toEqual([])
      expect(read(`Cannot read: ${sentence}`, { headers: { 'anthropic-odd': sentence } })).toEqual([])
    },
  )
})

describe('a request without the refused features', () => {
  test('has no such flag, and the others in their order', () => {
    expect(withoutFlags('a, b,c', new Set(['anthropic-beta.b']))).toEqual({
      beta: 'a,c',
      dropped: ['anthropic-beta.b'],
    })
    expect(withoutFlags('b', new Set(['anthropic-beta.b']))).toEqual({ beta: undefined, dropped: ['anthropic-beta.b'] })
    expect(withoutFlags(' a, b', new Set(['anthropic-beta.c']))).toEqual({ beta: ' a, b', dropped: [] })
  })

  const REQUEST = {
    system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h', scope: 'global' } }],
    output_config: { effort: 'high', format: { type: 'json_schema' } },
    context_management: { edits: [] },
    tools: [{ name: 'look', strict: true, defer_loading: true, input_schema: { strict: true } }],
    messages: [{ role: 'user', content: [{ type: 'tool_result', content: [{ cache_control: { ttl: '5m' } }] }] }],
  }

  test('has no such member, wherever it stands, and all others', () => {
    const without = (...features: string[]) => {
      const { body, dropped } = withoutMembers(Buffer.from(JSON.stringify(REQUEST)), new Set(features))
      return { request: JSON.parse(body.toString()) as typeof REQUEST, dropped }
    }
    expect(without('tools.strict', 'context_management', 'output_config.effort', 'cache_control.ttl')).toEqual({
      dropped: ['context_management', 'output_config.effort', 'tools.strict', 'cache_control.ttl'],
      request: {
        system: [{ ...REQUEST.system[0], cache_control: { type: 'ephemeral', scope: 'global' } }],
        output_config: { format: { type: 'json_schema' } },
        tools: [{ name: 'look', defer_loading: true, input_schema: { strict: true } }],
        messages: [{ role: 'user', content: [{ type: 'tool_result', content: [{ cache_control: {} }] }] }],
      },
    })
  })

  test('keeps the format of its response: without it the client could not read that', () => {
    const body = Buffer.from(JSON.stringify(REQUEST))
    expect(withoutMembers(body, new Set(['output_config']))).toEqual({ body, dropped: [] })
  })

  test('is the same bytes where it has none of them', () => {
    const body = Buffer.from('{ "messages": [] , "max_tokens": 1.0 }')
    expect(withoutMembers(body, new Set(['context_management'])).body).toBe(body)
  })
})

describe('the memory of a target', () => {
  const memory: FeatureMemory = new Map()
  const flag = (...flags: string[]) => ({ member: undefined, flags })

  test('lapses', () => {
    remember(memory, [flag('first')], 1_000)
    expect([...refusedOf(memory, 'first', 999)]).toEqual(['anthropic-beta.first'])
    expect([...refusedOf(memory, 'first', 1_000)]).toEqual([])
  })

  test('knows flags that were refused together in requests with all of them', () => {
    remember(memory, [flag('a', 'b')], 1_000)
    expect([...refusedOf(memory, 'c,b,a', 0)]).toEqual(['anthropic-beta.a', 'anthropic-beta.b'])
    expect([...refusedOf(memory, 'a,c', 0)]).toEqual([])
  })

  test('knows a refused member in requests with no other flags than those that went with it', () => {
    remember(memory, [{ member: 'context_management', flags: ['x', 'y'] }], 1_000)
    for (const beta of [undefined, 'y', 'y, x']) expect([...refusedOf(memory, beta, 0)]).toEqual(['context_management'])
    expect([...refusedOf(memory, 'x,z', 0)]).toEqual([])
  })

  test('is filled by no client that invents flags', () => {
    for (let index = 0; index < 1_000; index++) remember(memory, [flag(String(index))], 2_000)
    remember(memory, [flag(...Array.from({ length: 1_000 }, (_, index) => `of-many-${index}`))], 2_000)
    expect(memory.size).toBe(64)
  })
})
