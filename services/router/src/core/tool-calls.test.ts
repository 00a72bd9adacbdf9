/**
 * A conversation that began with one vendor goes on with another, with any names that the first one gave its calls.
 */

import type { VendorName } from '@gateway/contracts/vendors'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chatToMessages } from '../dialects/chat-to-messages.ts'
import { chatToChat } from '../dialects/chat-to-chat.ts'
import { VENDOR_PROFILES } from '../vendors/index.ts'
import { plain } from '../vendors/plain.ts'
import { newId, withSignatures } from './tool-calls.ts'

interface Chat {
  messages: { role: string; tool_call_id?: string; tool_calls?: { id: string }[] }[]
}

/** As vendors name them: OpenAI, Anthropic, vLLM, Kimi, Mistral, Portkey. */
const SEEN = [
  'call_abc',
  'toolu_01A09q90qw90lq917835lq9',
  'chatcmpl-tool-0123456789abcdef0123456789abcdef',
  'functions.look:0',
  'D681PevKs',
  'portkey-6aa6db90-1b84-4155-9f32-f658c97d6b1b',
]
const id = fc.oneof(fc.constantFrom(...SEEN), fc.string({ minLength: 1, maxLength: 100 }))

const conversation = (ids: string[]) => ({
  messages: [
    { role: 'user', content: 'Look at "tool_call_id":"x"' },
    { role: 'assistant', content: null, tool_calls: ids.map((id) => call(id)) },
    ...ids.map((tool_call_id) => ({ role: 'tool', tool_call_id, content: '72' })),
  ],
})
const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })

function written(ids: string[], vendor: VendorName): { calls: string[]; results: string[] } {
  const body = Buffer.from(JSON.stringify(conversation(ids)))
  const profile = VENDOR_PROFILES[vendor]
  const clientRequest = {
    kind: 'chat',
    body,
    model: 'm',
    stream: false,
    maxTokens: undefined,
    form: [],
    profile,
  } as const
  const { messages } = JSON.parse(chatToChat.request(clientRequest).body.toString()) as Chat
  return {
    calls: messages.flatMap(({ tool_calls: calls }) => calls ?? []).map(({ id }) => id),
    results: messages.flatMap(({ tool_call_id: id }) => id ?? []),
  }
}

const ACCEPTED: Partial<Record<VendorName, RegExp>> = {
  openai: /^.{1,40}$/s,
  azure: /^.{1,40}$/s,
  mistral: /^[a-zA-Z0-9]{9}$/,
  vllm: /./s,
}

describe.each(Object.entries(ACCEPTED) as [VendorName, RegExp][])('%s', (vendor, takes) => {
  test('gets ids that it takes, each result the id of its call, and no two calls the same', () => {
    fc.assert(
      fc.property(fc.uniqueArray(id, { minLength: 1, maxLength: 5 }), (ids) => {
        const { calls, results } = written(ids, vendor)
        expect(results).toEqual(calls)
        expect(new Set(calls).size).toBe(ids.length)
        for (const id of calls) expect(id).toMatch(takes)
      }),
    )
  })

  test('gets the ids that fit as they are', () => {
    const fitting = SEEN.filter((id) => takes.test(id))
    expect(written(fitting, vendor).calls).toEqual(fitting)
  })
})

test('Anthropic gets ids that it takes, each result the id of its call', () => {
  fc.assert(
    fc.property(fc.uniqueArray(id, { minLength: 1, maxLength: 5 }), (ids) => {
      const body = Buffer.from(JSON.stringify(conversation(ids)))
      const clientRequest = { kind: 'chat', body, model: 'm', stream: false, maxTokens: undefined, form: [] } as const
      const { messages } = JSON.parse(chatToMessages.request(clientRequest).body.toString()) as {
        messages: { content: { id?: string; tool_use_id?: string }[] }[]
      }
      const blocks = messages.flatMap(({ content }) => content)
      const calls = blocks.flatMap(({ id }) => id ?? [])
      expect(blocks.flatMap(({ tool_use_id: id }) => id ?? [])).toEqual(calls)
      for (const id of calls) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/)
    }),
  )
})

test('an id of our own is taken by OpenAI and by Anthropic', () => {
  const own = newId('chatcmpl-01934b6e-0000-7000-8000-000000000000 0 0')
  expect(own).toMatch(/^call_[0-9a-f]{24}$/)
  expect(newId('another')).not.toBe(own)
})

const sent = (id: string, more: object = {}) => ({ id, function: { name: 'look', arguments: '{}' }, ...more })
const SKIPPED = { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } }
const OWN = { extra_content: { google: { thought_signature: 'c2ln' } } }

test.each<[VendorName | '', string, boolean]>([
  ['gemini', 'gemini-3-flash-preview', true],
  ['vertex', 'google/gemini-3.1-pro', true],
  ['gemini', 'gemini-10', true],
  ['gemini', 'gemini-2.5-pro', false],
  ['', 'gemini-3-flash', false],
])('%s as %s wants signatures: %s', (vendor, model, wants) => {
  const { toolCalls } = vendor === '' ? plain : VENDOR_PROFILES[vendor]
  expect(toolCalls.needsSignature?.(model) ?? false).toBe(wants)
})

test('the first of the calls of a turn is signed, and one that is keeps its signature', () => {
  const turn = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls })
  const messages = [{ role: 'user', content: 'x' }, turn(sent('a'), sent('b')), turn(sent('c', OWN), sent('d'))]
  const written = withSignatures(Buffer.from(JSON.stringify({ messages })))
  expect(JSON.parse(Buffer.from(written).toString())).toEqual({
    messages: [messages[0], turn(sent('a', SKIPPED), sent('b')), messages[2]],
  })
})
