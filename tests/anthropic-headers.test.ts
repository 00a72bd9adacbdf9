/**
 * The headers of a client of the Messages API, on the way to a backend of that API. Exactly the `anthropic-*` ones arrive,
 * byte for byte, over each bus. No credential of the client does.
 */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import fc from 'fast-check'
import { startNats } from '@gateway/servers/start'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HttpBackend, sendJson, startHttpBackend } from '../services/router/test/http-backend.ts'
import { type GatewayWithoutStores, startGatewayWithoutStores } from './ways-in/gateway-without-stores.ts'

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-native',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 7, output_tokens: 2 },
}
const BODY = { model: 'claude-native', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }
const OF_CONFIG = 'wrkspc_of_the_operator'

const configOver = (url: string) => ({
  backends: [
    { id: 'native', url, dialect: 'anthropic', apiKey: 'vendors-key' },
    { id: 'aws', url, dialect: 'anthropic', headers: { 'Anthropic-Workspace-Id': OF_CONFIG } },
  ],
  pools: [
    { id: 'native', targets: [{ backend: 'native', model: 'claude-native' }] },
    { id: 'aws', targets: [{ backend: 'aws', model: 'claude-aws' }] },
  ],
  models: [
    { id: 'claude-native', type: 'chat', pool: 'native', multiplier: 1 },
    { id: 'claude-aws', type: 'chat', pool: 'aws', multiplier: 1 },
  ],
  plans: [
    { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
    { slug: 'team', limit: 1e12, rpm: 1_000_000, tpm: 1e9, default: true },
  ],
})

type Header = readonly [name: string, value: string]

/** Sends each header as it is, also twice. A list gets no others from Node. */
async function post(url: string, path: string, headers: readonly Header[], body: object = BODY) {
  // Beside a text, Node would write the headers in UTF-8.
  const json = Buffer.from(JSON.stringify(body))
  const ofBody: Header[] = [
    ['content-type', 'application/json'],
    ['content-length', String(json.length)],
  ]
  const all: Header[] = [['host', new URL(url).host], ...headers, ...ofBody]
  const sent = request(url + path, { method: 'POST', headers: all.flat() })
  sent.end(json)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of response.setEncoding('utf8')) text += piece as string
  return { status: response.statusCode!, headers: response.headers, body: JSON.parse(text) as Record<string, unknown> }
}

describe.each(['memory', 'NATS'])('over the bus %s', (bus) => {
  const stack = new AsyncDisposableStack()
  let native: HttpBackend
  let gateway: GatewayWithoutStores
  beforeAll(async () => {
    native = stack.use(
      await startHttpBackend((response, { path }) =>
        sendJson(response, 200, path.endsWith('/count_tokens') ? { input_tokens: 12 } : MESSAGE),
      ),
    )
    const natsUrl = bus === 'NATS' ? stack.use(await startNats()).url : undefined
    gateway = stack.use(await startGatewayWithoutStores(configOver(native.url), natsUrl))
  })
  afterAll(() => stack.disposeAsync())

  const received = () => native.seen.at(-1)!.headers
  const anthropicOnes = () =>
    Object.fromEntries(Object.entries(received()).filter(([name]) => name.startsWith('anthropic-')))
  const ourKey = (): Header => ['x-api-key', gateway.key]

  const text = fc
    .string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 400 })
    .map((value) => value.replace(/[\x7f]/g, '').trim())
    // Bytes that `trim` takes for spaces, and a parser does not.
    .filter((value) => value === value.replace(/^[ \t]+|[ \t]+$/g, ''))
  const value = fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: fc.constant('the key') })
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.stringMatching(/^anthropic-[a-z]{1,8}(?:-[a-z]{1,8})?$/) },
    fc.constantFrom('Anthropic-Beta', 'anthropic-beta', 'ANTHROPIC-WORKSPACE-ID', 'anthropic-version'),
    fc.constantFrom('x-anthropic-beta', 'x-claude-code-session-id', 'cookie', 'x-team', 'anthropicbeta', 'user-agent'),
  )

  test('exactly the anthropic headers of a client reach the backend, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 8 }), async (drawn) => {
        const headers = drawn.map(([of, said]): Header => [of, said === 'the key' ? `x ${gateway.key}` : said])
        const joined = Map.groupBy(headers, ([of]) => of.toLowerCase())
        const expected = [...joined]
          // Behind a value that is empty and the last of several, a reader drops the space.
          .map(([of, all]): Header => [
            of,
            all
              .map(([, said]) => said)
              .join(', ')
              .replace(/ $/, ''),
          ])
          .filter(([of, said]) => of.startsWith('anthropic-') && !said.includes(gateway.key))
        const reply = await post(gateway.url, '/v1/messages?beta=true', [ourKey(), ...headers])
        expect([reply.status, reply.body]).toEqual([200, MESSAGE])
        expect(anthropicOnes()).toEqual({ 'anthropic-version': '2023-06-01', ...Object.fromEntries(expected) })
        expect(received()).toMatchObject({ 'x-api-key': 'vendors-key', 'user-agent': 'model-gateway' })
        for (const foreign of ['authorization', 'x-anthropic-beta', 'x-claude-code-session-id', 'cookie', 'x-team'])
          expect(received()).not.toHaveProperty(foreign)
      }),
      { numRuns: 60, examples: [[Array<Header>(2).fill(['Anthropic-Beta', ''])]] },
    )
  })

  test('a count of tokens takes them along, too', async () => {
    const { max_tokens: _, ...counted } = BODY
    const headers: Header[] = [ourKey(), ['anthropic-workspace-id', 'wrkspc_1'], ['anthropic-beta', 'a-2026-01-01']]
    const reply = await post(gateway.url, '/v1/messages/count_tokens?beta=true', headers, counted)
    expect([reply.status, reply.body]).toEqual([200, { input_tokens: 12 }])
    expect(anthropicOnes()).toMatchObject({ 'anthropic-workspace-id': 'wrkspc_1', 'anthropic-beta': 'a-2026-01-01' })
  })

  test("the operator's own header wins", async () => {
    const headers: Header[] = [ourKey(), ['anthropic-workspace-id', 'wrkspc_of_the_client']]
    await post(gateway.url, '/v1/messages', headers, { ...BODY, model: 'claude-aws' })
    expect(anthropicOnes()).toMatchObject({ 'anthropic-workspace-id': OF_CONFIG })
  })

  test('too many of them, or too long ones, are refused by name, and nothing is sent', async () => {
    const calls = native.seen.length
    const many = Array.from({ length: 33 }, (_, index): Header => [`anthropic-number-${index}`, '1'])
    for (const headers of [many, [['anthropic-long', 'x'.repeat(8_200)] as Header]]) {
      const { status, body } = await post(gateway.url, '/v1/messages', [ourKey(), ...headers])
      expect({ status, body }).toMatchObject({ status: 400, body: { error: { type: 'invalid_request_error' } } })
      expect(JSON.stringify(body)).toMatch(/anthropic-(?:number-\d+|long): /)
    }
    expect(native.seen).toHaveLength(calls)
  })

  test('requests that differ in one of them are two requests to an Idempotency-Key', async () => {
    const once = randomUUID()
    const of = (workspace: string) =>
      post(gateway.url, '/v1/messages', [ourKey(), ['idempotency-key', once], ['anthropic-workspace-id', workspace]])
    expect((await of('wrkspc_1')).status).toBe(200)
    expect((await of('wrkspc_1')).headers['idempotent-replayed']).toBe('true')
    expect((await of('wrkspc_2')).status).toBe(400)
  })

  test('the login of another service beside our key is nobody’s: the request counts once, and neither is sent on', async () => {
    const leftover = 'sk-ant-oat01-left-over'
    const remaining = async (headers: Header[]) => {
      const reply = await post(gateway.url, '/v1/messages', headers)
      expect(reply.status).toBe(200)
      expect(JSON.stringify(received())).not.toContain(leftover)
      expect(JSON.stringify(received())).not.toContain(gateway.key)
      return Number(reply.headers['anthropic-ratelimit-requests-remaining'])
    }
    const first = await remaining([ourKey()])
    expect(await remaining([ourKey(), ['authorization', `Bearer ${leftover}`]])).toBe(first - 1)
    expect(
      await remaining([
        ['x-api-key', leftover],
        ['authorization', `Bearer ${gateway.key}`],
      ]),
    ).toBe(first - 2)
    expect(await remaining([ourKey(), ['authorization', `Bearer ${gateway.key}`]])).toBe(first - 3)
  })
})
