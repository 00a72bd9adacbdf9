/**
 * For each request that the contract allows, a vendor gets a request as it describes requests itself. Otherwise the client
 * reads the name of the parameter that this vendor does not take.
 */

import { VENDORS, type Vendor } from '@gateway/contracts/vendors'
import { chatRequest } from '@gateway/contracts/chat'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sendJson } from '../http-backend.ts'
import { backend, router } from '../open.ts'
import { poolOver } from '../router-under-test.ts'
import { VENDOR_PROFILES } from '../../src/vendors/index.ts'
import { sourceOf, violationOf } from './schemas.ts'
import { STAND_INS } from './stand-ins.ts'

const vendors = Object.keys(VENDORS) as Vendor[]

const SAY = { role: 'user', content: 'Say hello' }
const text = fc.constantFrom('Say hello', 'Wie geht es?', '你好')
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const TOOL = { type: 'function', function: { name: 'look', description: 'Looks', parameters: SCHEMA } }
const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"a":"b"}' } }
const PIXEL = 'data:image/png;base64,iVBORw0KGgo='

const part = fc.oneof(
  text.map((words) => ({ type: 'text', text: words })),
  fc
    .record({ url: fc.constantFrom(PIXEL, 'https://a.example/b.png') })
    .map((image_url) => ({ type: 'image_url', image_url })),
)
const turn = fc.oneof(
  fc.oneof(text, fc.array(part, { minLength: 1, maxLength: 3 })).map((content) => [{ role: 'user', content }]),
  text.map((content) => [
    { role: 'assistant', content },
    { role: 'user', content },
  ]),
  text.map((content) => [
    { role: 'user', content },
    { role: 'assistant', content: null, tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'call_1', content },
  ]),
)
const messages = fc
  .tuple(fc.constantFrom(null, 'system', 'developer'), fc.array(turn, { minLength: 1, maxLength: 3 }))
  .map(([role, turns]) => [...(role ? [{ role, content: 'Be brief' }] : []), ...turns.flat()])

/** The edge leaves out those that are null. */
const options = fc.record(
  {
    max_tokens: fc.constant(32),
    max_completion_tokens: fc.constant(16),
    n: fc.constantFrom(1, 2),
    temperature: fc.constantFrom(0, 0.5, 1),
    top_p: fc.constantFrom(0.5, 1),
    presence_penalty: fc.constant(0.5),
    frequency_penalty: fc.constant(0.5),
    logprobs: fc.boolean(),
    logit_bias: fc.constant({ 50256: -100 }),
    seed: fc.constant(7),
    stop: fc.constantFrom<unknown>('END', ['END', 'STOP']),
    user: fc.constant('someone'),
    parallel_tool_calls: fc.boolean(),
    reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high'),
    response_format: fc.constantFrom(
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA, strict: true } },
    ),
  },
  { requiredKeys: [] },
)
const tools = fc.option(
  fc.record(
    {
      tools: fc.constant([TOOL]),
      tool_choice: fc.constantFrom<unknown>('auto', 'none', 'required', {
        type: 'function',
        function: { name: 'look' },
      }),
    },
    { requiredKeys: ['tools'] },
  ),
)
const chat = fc
  .tuple(messages, options, tools)
  .map(([said, requested, given]): Record<string, unknown> => ({ messages: said, ...requested, ...given }))

describe('every request of the contract', () => {
  test.for(vendors)('is one of %s, or is refused by name', async (vendor) => {
    const standIn = STAND_INS[vendor]
    const violations: string[] = []
    const server = await backend((response, request, socket) => {
      const violation = violationOf(vendor, request.path, request.body)
      if (violation === null) return standIn.reply(response, request, socket)
      violations.push(`${violation} in ${request.text}`)
      return sendJson(response, 400, { error: { message: violation } })
    })
    const under = await router(
      poolOver([server.url], {
        backend: { vendor, apiKey: 'key', capabilities: ['chat', 'tools', 'vision'] },
        targets: [{ model: standIn.model }],
      }),
    )
    await fc.assert(
      fc.asyncProperty(chat, fc.boolean(), async (body, stream) => {
        expect(chatRequest.safeParse({ model: 'm', ...body }).success).toBe(true)
        violations.length = 0
        const { failure, head } = await under.sendRequest({ stream, needs: ['chat'], defaultMaxTokens: 64 }, body)
        expect(violations).toEqual([])
        if (failure === null) return
        expect(failure).toMatchObject({ code: 'BACKEND_REFUSED' })
        const named = Object.keys(body).filter((name) => failure.backendBody?.includes(name))
        expect({ named: named.length > 0, failure, head }).toMatchObject({ named: true })
      }),
      { numRuns: 60 },
    )
  })
})

/** Of other vendors, of older servers, and mistyped. */
const FOREIGN = ['invented', 'temprature', 'metadata', 'store', 'service_tier', 'guided_json', 'top_k', 'user', 'ключ']

const VALUES: Record<string, unknown> = { metadata: { a: 'b' }, store: true, service_tier: 'priority', user: 'someone' }

const acceptedBy = (vendor: Vendor) => VENDOR_PROFILES[vendor].parameters.chat(STAND_INS[vendor].model)!
/** Whose requests clients write in chat. */
const chatting = vendors.filter((vendor) => vendor !== 'anthropic')

describe('a member that is not the client’s to send, or would be ignored', () => {
  test.for(chatting)('is left out for %s, and reported', async (vendor) => {
    const violations: string[] = []
    const server = await backend((response, request, socket) => {
      const violation = violationOf(vendor, request.path, request.body)
      if (violation !== null) violations.push(violation)
      return STAND_INS[vendor].reply(response, request, socket)
    })
    const under = await router(
      poolOver([server.url], { backend: { vendor, apiKey: 'key' }, targets: [{ model: STAND_INS[vendor].model }] }),
    )
    const accepted = acceptedBy(vendor)
    const leaves = (name: string) => accepted.has(name) && name !== 'service_tier'
    await fc.assert(
      fc.asyncProperty(fc.subarray(FOREIGN), fc.boolean(), async (names, stream) => {
        const foreign = Object.fromEntries(names.map((name) => [name, VALUES[name] ?? 3]))
        const { failure, head } = await under.sendRequest({ stream }, { messages: [SAY], ...foreign, absent: null })
        expect(failure).toBeNull()
        const others = names.filter((name) => !leaves(name))
        expect(head!.droppedParams ?? []).toEqual(others.map(encodeURIComponent))
        for (const name of names) expect(name in server.seen.at(-1)!.body).toBe(leaves(name))
      }),
      { numRuns: 40 },
    )
    expect(violations).toEqual([])
  })
})

describe('a description', () => {
  test.each(vendors)('of %s names its source and day, and refuses a member that it does not know', (vendor) => {
    expect(sourceOf(vendor)).toMatch(/^\S.*, 20\d\d-\d\d-\d\d$/)
    const path = vendor === 'anthropic' ? '/messages' : '/chat/completions'
    const good = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }
    expect(violationOf(vendor, path, good)).toBeNull()
    expect(violationOf(vendor, path, { ...good, invented: 1 })).toContain('invented')
    expect(violationOf(vendor, path, { ...good, max_tokens: 'many' })).not.toBeNull()
  })
})
