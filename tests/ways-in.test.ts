/**
 * The three ways in, each in front of backends of its own dialect and of another one. The tests check the clients'
 * view, the metered usage, and the words of every refusal.
 */

import { createServer, type IncomingHttpHeaders } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import type { ErrorCode } from '@gateway/contracts/errors'
import { clientDialects, type ClientDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { type Backend, startBackend } from '@gateway/stand-ins/backend'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { REPLY, QUESTION, type Seen } from './faults/request-chat.ts'
import { requestBy } from './faults/request-by-dialect.ts'
import { SHOWN } from './faults/backends.ts'
import { send, sendRaw } from './promises/gateway.ts'
import { type FaultLane, harmless, sectionsOver, reported, unnoticed } from './ways-in/fault-lanes.ts'
import { type GatewayWithoutStores, startGatewayWithoutStores } from './ways-in/gateway-without-stores.ts'

const stack = new AsyncDisposableStack()
let backend: Backend
let gateway: GatewayWithoutStores
/** Of the requests to the backend that speaks messages itself. */
const received: IncomingHttpHeaders[] = []

beforeAll(async () => {
  backend = stack.use(await startBackend())
  const native = createServer((request, response) => {
    received.push(request.headers)
    request.resume()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(request.url!.endsWith('/count_tokens') ? { input_tokens: 4_711 } : NATIVE_MESSAGE))
  }).listen(0, '127.0.0.1')
  await once(native, 'listening')
  stack.defer(() => void native.close())
  const nativeUrl = `http://127.0.0.1:${(native.address() as AddressInfo).port}/v1`
  gateway = stack.use(await startGatewayWithoutStores(configOver(backend.url, nativeUrl)))
})
afterAll(() => stack.disposeAsync())
afterEach(() => gateway.storeAfter(Promise.resolve()))

const NATIVE_MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-native',
  content: [{ type: 'text', text: 'natively' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 7, output_tokens: 2 },
}

const configOver = (url: string, nativeUrl: string) => ({
  backends: [
    ...sectionsOver(url).backends,
    { id: 'plain', url, capabilities: ['chat', 'tools', 'vision'] },
    { id: 'native', url: nativeUrl, dialect: 'anthropic' },
  ],
  pools: [
    ...sectionsOver(url).pools,
    { id: 'core', targets: [{ backend: 'plain', model: 'sim-core' }] },
    { id: 'native', targets: [{ backend: 'native', model: 'claude-native' }] },
  ],
  models: [
    { id: 'svc-best', type: 'auto', lanes: ['svc-core'] },
    { id: 'svc-core', type: 'chat', pool: 'core', multiplier: 2, aliases: ['claude-sonnet-4-5'] },
    { id: 'svc-native', type: 'chat', pool: 'native', multiplier: 1, aliases: ['claude-opus-4-5'], listed: true },
    ...sectionsOver(url).models,
  ],
  plans: [
    { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
    { slug: 'team', limit: 1e12, rpm: 1_000_000, tpm: 1e9, paid: true, default: true },
  ],
})

const bodyOf = (dialect: ClientDialect, model: string, fields: object = {}) => ({
  model,
  ...CLIENTS[dialect].body(QUESTION, 100),
  ...fields,
})
const requested = (model: string, stream: boolean) => ({ url: gateway.url, key: gateway.key, model, stream })
const reportOf = async (requestId: string) => {
  const find = () => gateway.reports.filter((report) => report.requestId === requestId)
  await expect.poll(find).toHaveLength(1)
  return find()[0]!
}

describe.each(clientDialects)('%s', (dialect) => {
  test.each([true, false])('returns a whole response, with the usage that is metered (stream: %s)', async (stream) => {
    const seen = await requestBy(dialect, requested('svc-core', stream)).over
    expect(seen).toMatchObject({ error: null, text: REPLY, finishReason: 'stop', complete: true, errorEvent: false })
    const report = await reportOf(seen.requestId!)
    const { promptTokens: prompt_tokens, completionTokens: completion_tokens } = report.usage
    expect(seen.usage).toMatchObject({ prompt_tokens, completion_tokens })
    expect(report).toMatchObject({ modelAsked: 'svc-core', lane: 'svc-core', outcome: 'completed', delivered: true })
    expect(report.usage).toMatchObject({ completionTokens: 3, estimated: false })
  })

  test('has its end when its usage is stored, and not before', async () => {
    const stored = Promise.withResolvers<void>()
    gateway.storeAfter(stored.promise)
    const { seen, over } = requestBy(dialect, requested('svc-core', true))
    try {
      await expect.poll(() => seen.text).toBe(REPLY)
      expect(seen).toMatchObject({ done: false, complete: false })
    } finally {
      stored.resolve()
    }
    expect(await over).toMatchObject({ done: true, complete: true })
  })

  test('is served by Auto, and by the alias of a model, which the ledger knows by its id', async () => {
    for (const [name, modelAsked] of [
      ['svc-best', 'svc-best'],
      ['claude-sonnet-4-5', 'svc-core'],
    ] as const) {
      const seen = await requestBy(dialect, requested(name, false)).over
      expect(seen.text).toBe(REPLY)
      expect(await reportOf(seen.requestId!)).toMatchObject({ modelAsked, lane: 'svc-core' })
    }
  })

  test("reports Auto's choice, the pool and the quota of the account", async () => {
    const { headers } = await send(gateway.url, CLIENTS[dialect].path, {
      key: gateway.key,
      body: bodyOf(dialect, 'svc-best'),
    })
    expect(headers.get('x-svc-upstream')).toBe('core')
    expect(headers.get('x-svc-smart-route')).toMatch(/^svc-core; reason=/)
    expect(headers.get('x-svc-quota-plan')).toBe('team')
    expect(headers.get('request-id')).toBe(dialect === 'messages' ? headers.get('x-request-id') : null)
    expect(headers.has('anthropic-ratelimit-tokens-reset')).toBe(dialect === 'messages')
  })

  test('reports a backend that breaks off, and charges for the content shown', async () => {
    backend.fail({ dieAfterChunks: 3, times: 1 })
    const seen = await requestBy(dialect, requested('svc-core', true)).over
    expect(seen).toMatchObject({ status: 200, text: 'all is', done: false, complete: false, errorEvent: true })
    const report = await reportOf(seen.requestId!)
    expect(report).toMatchObject({ outcome: 'backend_failed', delivered: false, usage: { completionTokens: 2 } })
  })

  test('with an Idempotency-Key is given again as it was, and reported once', async () => {
    const options = {
      key: gateway.key,
      body: bodyOf(dialect, 'svc-core', { stream: true }),
      headers: { 'idempotency-key': randomUUID() },
    }
    const read = async () => {
      const response = await fetch(gateway.url + CLIENTS[dialect].path, {
        method: 'POST',
        headers: { 'x-api-key': options.key, 'content-type': 'application/json', ...options.headers },
        body: JSON.stringify(options.body),
      })
      return { id: response.headers.get('x-request-id')!, text: await response.text() }
    }
    const first = await read()
    expect(await read()).toEqual(first)
    expect(first.text).toMatch(/\[DONE\]\n\n$|event: (message_stop|response\.completed)\ndata: .*\n\n$/)
    await reportOf(first.id)
  })

  test('has a quote, with the lane and the price of the request', async () => {
    const { status, body } = await send(gateway.url, `/v1/quote?dialect=${dialect}`, {
      key: gateway.key,
      body: bodyOf(dialect, 'claude-sonnet-4-5'),
    })
    expect({ status, ...body }).toMatchObject({
      status: 200,
      model: 'svc-core',
      lane: 'svc-core',
      price: { multiplier: 2 },
    })
  })

  const refusal = (code: ErrorCode, param?: string | null) => CLIENTS[dialect].refusal(code, expect.any(String), param)
  test.each<[string, number, ErrorCode, string | null, () => unknown]>([
    ['a model that does not exist', 404, 'MODEL_NOT_FOUND', null, () => bodyOf(dialect, 'nothing')],
    [
      'a field of another type',
      400,
      'VALIDATION_ERROR',
      'stream',
      () => bodyOf(dialect, 'svc-core', { stream: 'yes' }),
    ],
    ['a body that is no JSON', 400, 'VALIDATION_ERROR', null, () => '{'],
  ])('refuses %s in its own shape', async (_, status, code, param, body) => {
    const reply = await send(gateway.url, CLIENTS[dialect].path, { key: gateway.key, body: body() })
    expect(reply.status).toBe(status)
    expect(reply.body).toMatchObject(refusal(code, param))
  })

  test('refuses strangers and other methods in its own shape', async () => {
    const stranger = await send(gateway.url, CLIENTS[dialect].path, { body: bodyOf(dialect, 'svc-core') })
    expect(stranger.status).toBe(401)
    expect(stranger.body).toMatchObject(refusal('NO_AUTH'))
    const other = await send(gateway.url, CLIENTS[dialect].path, { key: gateway.key, method: 'DELETE' })
    // A GET of responses is a WebSocket's.
    const allowed = dialect === 'responses' ? 'GET, POST' : 'POST'
    expect([other.status, other.headers.get('allow')]).toEqual([405, allowed])
    expect(other.body).toMatchObject(refusal('METHOD_NOT_ALLOWED'))
  })
})

test('a backend of the client’s dialect gets its headers, and responds with its own bytes', async () => {
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'some-beta-2026-01-01' }
  const body = bodyOf('messages', 'claude-opus-4-5')
  const reply = await send(gateway.url, '/v1/messages', { key: gateway.key, body, headers })
  expect(reply.body).toEqual(NATIVE_MESSAGE)
  expect(received.at(-1)).toMatchObject(headers)
  const report = await reportOf(reply.headers.get('x-request-id')!)
  expect(report.usage).toMatchObject({ promptTokens: 7, completionTokens: 2, estimated: false })
})

test('the tokens of a prompt are counted without a charge', async () => {
  const before = gateway.reports.length
  const body = { model: 'claude-sonnet-4-5', messages: [{ role: 'user', content: QUESTION }] }
  const count = (of: object) => send(gateway.url, '/v1/messages/count_tokens', { key: gateway.key, body: of })
  const estimated = await count(body)
  expect([estimated.status, estimated.body]).toEqual([200, { input_tokens: expect.any(Number) as number }])
  expect(estimated.headers.get('x-svc-token-count')).toBe('estimate')
  const exact = await count({ ...body, model: 'claude-opus-4-5' })
  expect([exact.status, exact.body]).toEqual([200, { input_tokens: 4_711 }])
  expect(exact.headers.get('x-svc-token-count')).toBe('exact')
  const nothing = await send(gateway.url, '/v1/messages/count_tokens', {
    key: gateway.key,
    body: { ...body, model: 'x' },
  })
  expect([nothing.status, nothing.body]).toMatchObject([404, { type: 'error', error: { type: 'not_found_error' } }])
  expect(gateway.reports).toHaveLength(before)
})

test('a translated stream of messages claims no tokens before its backend has counted them', async () => {
  const response = await sendRaw(gateway.url, '/v1/messages', {
    key: gateway.key,
    body: bodyOf('messages', 'svc-core', { stream: true }),
  })
  const [, start] = /^event: message_start\ndata: (.*)\n/.exec(await response.text())!
  const { message } = JSON.parse(start!) as { message: { usage: object } }
  expect(message.usage).toMatchObject({ input_tokens: 0, output_tokens: 0 })
  await reportOf(response.headers.get('x-request-id')!)
})

test('aliases are listed where their model says so, and found by name everywhere', async () => {
  const { body } = await send(gateway.url, '/v1/models')
  const ids = (body['data'] as { id: string }[]).map(({ id }) => id)
  expect(ids.slice(0, 4)).toEqual(['svc-best', 'svc-core', 'svc-native', 'claude-opus-4-5'])
  expect(ids).not.toContain('claude-sonnet-4-5')
  for (const id of ['claude-sonnet-4-5', 'claude-opus-4-5']) {
    expect((await send(gateway.url, `/v1/models/${id}`)).body).toMatchObject({ id, object: 'model' })
  }
})

/** All at once, because most of them wait; each test then looks at its own. */
function seenOf(lanes: FaultLane[]): (lane: FaultLane) => Promise<Seen> {
  const seen = new Map<FaultLane, Promise<Seen>>()
  beforeAll(() => {
    for (const lane of lanes) {
      backend.fail({ backend: lane.first, ...lane.fault })
      seen.set(lane, requestBy(lane.dialect, requested(lane.model, true)).over)
    }
  })
  return (lane) => seen.get(lane)!
}

describe('the fault table: a first backend that fails before content is not noticed', () => {
  const seenBy = seenOf(unnoticed)
  test.each(unnoticed)('$dialect: $name', async (lane) => {
    const seen = await seenBy(lane)
    expect(seen).toMatchObject({ error: null, text: REPLY, finishReason: 'stop', complete: true, errorEvent: false })
    const report = await reportOf(seen.requestId!)
    expect(report).toMatchObject({ backend: lane.second, outcome: 'completed', delivered: true })
    expect(report.usage).toMatchObject({ completionTokens: 3, estimated: false })
  })
})

describe('the fault table: behaviour that only looks like a fault does no harm', () => {
  const seenBy = seenOf(harmless)
  test.each(harmless)('$dialect: $name', async (lane) => {
    const seen = await seenBy(lane)
    expect(seen).toMatchObject({ error: null, text: REPLY, finishReason: 'stop', complete: true, errorEvent: false })
    const { backend: by, usage } = await reportOf(seen.requestId!)
    expect(by).toBe(lane.first)
    expect(usage).toMatchObject({ completionTokens: 3, estimated: lane.fault?.noUsage ?? false })
    expect(seen.usage).toEqual({ prompt_tokens: usage.promptTokens, completion_tokens: 3 })
  })
})

describe('the fault table: the client learns of a backend that fails after content, and sees no good end', () => {
  const seenBy = seenOf(reported)
  test.each(reported)('$dialect: $name', async (lane) => {
    const seen = await seenBy(lane)
    expect(seen).toMatchObject({ status: 200, text: SHOWN, complete: false, done: false, errorEvent: true })
    const report = await reportOf(seen.requestId!)
    expect(report).toMatchObject({ backend: lane.first, outcome: 'backend_failed', delivered: false })
    expect(report.usage.completionTokens).toBe(2)
  })
})

test.each(['responses', 'messages'] as const)(
  '%s: two edges give one response to all requests under one key',
  async (dialect) => {
    backend.fail({ paceMs: 100, times: 1 })
    const body = JSON.stringify(bodyOf(dialect, 'svc-core', { stream: true }))
    const headers = { 'x-api-key': gateway.key, 'content-type': 'application/json', 'idempotency-key': randomUUID() }
    const calls = backend.calls.length
    const replies = await Promise.all(
      [gateway.url, gateway.otherUrl, gateway.url, gateway.otherUrl].map(async (url) => {
        const response = await fetch(url + CLIENTS[dialect].path, { method: 'POST', headers, body })
        return { id: response.headers.get('x-request-id'), text: await response.text() }
      }),
    )
    for (const reply of replies) expect(reply).toEqual(replies[0])
    const { endsWithDone, namedEvents } = CLIENTS[dialect]
    const done = endsWithDone ? 'data: \\[DONE\\]\n\n' : ''
    const end = new RegExp(`event: ${namedEvents!.terminal.replaceAll('.', '\\.')}\ndata: .*\n\n${done}$`)
    expect(replies[0]!.text).toMatch(end)
    expect(backend.calls).toHaveLength(calls + 1)
    await reportOf(replies[0]!.id!)
  },
)

/** The last one: a router stays away. */
test('a router that is lost before its first content is noticed by no client', async () => {
  backend.fail({ firstByteDelayMs: 1_000, times: 12 })
  const calls = backend.calls.length
  const all = Array.from(
    { length: 12 },
    (_, index) => requestBy(clientDialects[index % 3]!, requested('svc-core', index % 2 === 0)).over,
  )
  await expect.poll(() => backend.calls.length).toBe(calls + 12)
  gateway.loseRouter()
  for (const seen of await Promise.all(all)) {
    expect(seen).toMatchObject({ error: null, text: REPLY, complete: true, errorEvent: false })
    expect(await reportOf(seen.requestId!)).toMatchObject({ outcome: 'completed', usage: { completionTokens: 3 } })
  }
  expect(backend.calls.length).toBeGreaterThan(calls + 12)
})
