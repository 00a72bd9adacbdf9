/**
 * The errors of the only target of a model, which speaks the Messages API, as a client of that API reads them. Claude Code
 * acts by the status, the sentence and the advice, so they come through the gateway as they would come without it.
 */

import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HttpBackend, goodChat, sendJson, startHttpBackend } from '../services/router/test/http-backend.ts'
import { send } from './promises/gateway.ts'
import { type GatewayWithoutStores, startGatewayWithoutStores } from './ways-in/gateway-without-stores.ts'

const VENDORS_KEY = 'sk-ant-api03-the-vendors-key'
/** Anthropic's words for its statuses: platform.claude.com/docs/en/api/errors, 2026-08. */
const TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'api_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}
const OWN_FAULTS = [400, 413, 422]
const PASSING = [429, 500, 502, 503, 504, 529]

interface Written {
  body: object | string
  /** The members of `error` that the client reads; without it, the gateway's own. */
  error?: object
  /** Beside them. */
  others?: object
}

/** The manners in which targets write an error. */
const BODIES: Record<string, (type: string) => Written> = {
  'as Anthropic': (type) => {
    const error = { type, message: 'messages.1.content: is odd', details: { error_code: 'odd', at: [1, { of: 2.5 }] } }
    return { body: { type: 'error', error, request_id: 'req_vendor' }, error, others: { request_id: 'req_vendor' } }
  },
  'with members of its own': (type) => {
    const error = { type, message: 'is odd', param: 'messages', hint: null }
    return { body: { type: 'error', error, extra: [1] }, error, others: { extra: [1] } }
  },
  'with its own key in it': (type) => ({
    body: { type: 'error', error: { type, message: `no ${VENDORS_KEY}`, echo: { [VENDORS_KEY]: 1 } } },
    error: { type, message: 'no [redacted]', echo: { '[redacted]': 1 } },
  }),
  'as OpenAI': () => {
    const error = { message: 'is odd', type: 'odd_type', param: null, code: 'odd_code' }
    return { body: { error }, error }
  },
  'as a sentence': (type) => ({ body: { error: 'is odd' }, error: { type } }),
  'as text': (type) => ({ body: '<html>is odd</html>', error: { type } }),
}

interface Case {
  model: string
  status: number
  written: Written
  shape: string
  headers?: Record<string, string>
}

const cases: Case[] = [...OWN_FAULTS, ...PASSING].flatMap((status) =>
  Object.entries(BODIES).map(([shape, write], index) => ({
    model: `claude-${status}-${index}`,
    status,
    shape,
    written: write(TYPES[status]!),
  })),
)
const ADVISED: Pick<Case, 'model' | 'status' | 'headers'>[] = [
  { model: 'claude-wait', status: 429, headers: { 'retry-after': '30' } },
  { model: 'claude-wait-529', status: 529, headers: { 'retry-after': '30' } },
  { model: 'claude-wait-500', status: 500, headers: { 'retry-after': '30' } },
  { model: 'claude-wait-an-hour', status: 429, headers: { 'retry-after': '3600' } },
  { model: 'claude-never', status: 429, headers: { 'x-should-retry': 'false' } },
]
const advised = ADVISED.map((of): Case => {
  return { ...of, shape: 'as Anthropic', written: BODIES['as Anthropic']!(TYPES[of.status]!) }
})
const FOR_SDK = [413, 429, 529]
const thrown = FOR_SDK.map((status): Case => {
  return {
    model: `claude-sdk-${status}`,
    status,
    shape: 'as Anthropic',
    written: BODIES['as Anthropic']!(TYPES[status]!),
  }
})
const all = [...cases, ...advised, ...thrown]

const configOver = (url: string) => {
  const names = ['claude-401', 'claude-799', 'claude-unpaid', 'claude-event', ...all.map(({ model }) => model)]
  const backend = (id: string) => ({ id, url, dialect: 'anthropic', apiKey: VENDORS_KEY })
  const target = (id: string) => ({ backend: id, model: id })
  return {
    backends: [...names.map(backend), { id: 'chat', url }, backend('claude-529-first'), backend('claude-529-second')],
    pools: [
      ...names.map((id) => ({ id, targets: [target(id)] })),
      { id: 'chat', targets: [target('chat')] },
      { id: 'two', targets: [target('claude-529-first'), target('claude-529-second')] },
    ],
    models: [...names, 'chat', 'two'].map((id) => ({ id, type: 'chat', pool: id, multiplier: 1 })),
    plans: [
      { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
      { slug: 'team', limit: 1e12, rpm: 1_000_000, tpm: 1e9, default: true },
    ],
  }
}

const stack = new AsyncDisposableStack()
let target: HttpBackend
let gateway: GatewayWithoutStores
beforeAll(async () => {
  target = stack.use(
    await startHttpBackend((response, request, socket) => {
      const model = String(request.body['model'])
      const found = all.find((one) => one.model === model)
      const write = (status: number, body: object | string, headers: Record<string, string> = {}) => {
        if (typeof body === 'object') return sendJson(response, status, body, headers)
        response.writeHead(status, { 'content-type': 'text/html', ...headers })
        return response.end(body)
      }
      if (found) return write(found.status, found.written.body, found.headers)
      const error = (type: string, message: string) => ({ type: 'error', error: { type, message } })
      switch (model) {
        case 'claude-401':
          return write(401, error('authentication_error', 'invalid x-api-key'))
        case 'claude-799':
          return write(799, error('odd_error', 'odd'))
        case 'claude-unpaid':
          return write(400, error('invalid_request_error', 'Your credit balance is too low'))
        case 'claude-event':
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          return response.end(`event: error\ndata: ${JSON.stringify(error('overloaded_error', 'Overloaded'))}\n\n`)
        case 'chat':
          if (JSON.stringify(request.body).includes('large')) return write(413, { error: { message: 'too large' } })
          return goodChat(response, request, socket)
        default:
          return write(529, error('overloaded_error', 'Overloaded'), { 'retry-after': '30' })
      }
    }),
  )
  gateway = stack.use(await startGatewayWithoutStores(configOver(target.url)))
})
afterAll(() => stack.disposeAsync())

/** All at once, because some of them are repeated after a pause. */
const replies = new Map<string, ReturnType<typeof post>>()
beforeAll(() => {
  for (const { model } of [...cases, ...advised]) replies.set(model, post(model))
})

const requested = (model: string, more: object = {}) => ({
  model,
  max_tokens: 10,
  messages: [{ role: 'user' as const, content: 'Hi' }],
  ...more,
})
const post = (model: string, more: object = {}) =>
  send(gateway.url, '/v1/messages', { key: gateway.key, body: requested(model, more) })

describe('the only target of a model', () => {
  test.for(cases)('status $status, written $shape: reaches the client as it is', async ({ model, status, written }) => {
    const { status: got, headers, body } = await replies.get(model)!
    expect(got).toBe(status)
    const code = OWN_FAULTS.includes(status) ? 'VALIDATION_ERROR' : 'UPSTREAMS_EXHAUSTED'
    const { error = {}, others = {} } = written
    expect(body).toMatchObject({ type: 'error', error, request_id: expect.any(String) as string, ...others })
    const said = body['error'] as Record<string, unknown>
    expect(said['message']).toEqual(expect.stringMatching(/./))
    if (typeof written.body === 'object') expect(said['gateway_code']).toBe(code)
    expect(headers.get('request-id')).toBe(headers.get('x-request-id'))
    expect(headers.get('x-should-retry')).toBe(OWN_FAULTS.includes(status) ? 'false' : null)
    expect(JSON.stringify(body)).not.toContain(VENDORS_KEY)
  })

  test.for(advised)('status $status with $headers: its advice comes through', async ({ model, status, headers }) => {
    const reply = await replies.get(model)!
    expect(reply.status).toBe(status)
    const { 'retry-after': wait, 'x-should-retry': advice = null } = headers!
    const waitS = Number(reply.headers.get('retry-after'))
    if (wait !== undefined) expect([waitS > Number(wait) - 10, waitS <= Number(wait)]).toEqual([true, true])
    expect(reply.headers.get('x-should-retry')).toBe(advice)
    expect(target.seen.filter(({ body }) => body['model'] === model)).toHaveLength(1)
  })

  test("Anthropic's client throws the error of each status that it would throw without the gateway", async () => {
    const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, authToken: null, maxRetries: 0 })
    for (const { model, status } of thrown)
      await expect(client.messages.create(requested(model))).rejects.toMatchObject({ status, type: TYPES[status] })
  })

  test('an error that its stream begins with has the status of its type', async () => {
    const { status, body } = await post('claude-event', { stream: true })
    expect({ status, body }).toMatchObject({
      status: 529,
      body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    })
  })
})

describe('a trouble that is not the client’s', () => {
  test.each(['claude-401', 'claude-799', 'claude-unpaid'])(
    '%s is the gateway’s, with none of the target’s words',
    async (model) => {
      const { status, body } = await post(model)
      expect({ status, body }).toMatchObject({
        status: 503,
        body: { error: { type: 'overloaded_error', code: 'UPSTREAMS_EXHAUSTED' } },
      })
      expect(JSON.stringify(body)).not.toMatch(/x-api-key|credit|odd/)
    },
  )

  test('of two targets is no single one’s: a 503 that names both', async () => {
    const { status, headers, body } = await post('two')
    const attempted = expect.arrayContaining(['claude-529-first', 'claude-529-second']) as string[]
    expect({ status, body }).toMatchObject({ status: 503, body: { error: { type: 'overloaded_error', attempted } } })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(20)
  })
})

test('a body that is too large for a backend of another format is so for a client of Messages, too', async () => {
  const { status, body } = await post('chat', { system: 'large' })
  expect({ status, body }).toMatchObject({
    status: 413,
    body: { error: { type: 'request_too_large', message: 'too large' } },
  })
})

test('clients of the other formats read the contract’s status and shape', async () => {
  const chat = (model: string) =>
    send(gateway.url, '/v1/chat/completions', { key: gateway.key, body: requested(model) })
  expect(await chat('claude-413-1')).toMatchObject({
    status: 400,
    body: { error: { message: 'is odd', gateway_code: 'VALIDATION_ERROR' } },
  })
  expect(await chat('claude-529-1')).toMatchObject({ status: 503, body: { code: 'UPSTREAMS_EXHAUSTED' } })
})
