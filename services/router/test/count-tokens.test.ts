/**
 * A count of tokens by a backend's own endpoint: of the target that a request would go to, in little time. It says
 * nothing about the target's health.
 */

import { expect, test } from 'vitest'
import { NO_TIMEOUTS } from '../src/core/attempts.ts'
import { openBackendRegistry } from '../src/backend-registry.ts'
import { openTokenCounts } from '../src/handlers/count-tokens.ts'
import { backend, closing } from './open.ts'
import { sendJson, type Reply } from './http-backend.ts'
import { poolOver } from './router-under-test.ts'

const REQUEST = { pool: 'spark', body: '{"messages":[{"role":"user","content":"Hi"}],"priority":1}', requestId: 'r' }

async function counting(replies: Reply[], backends: object[], withinMs?: number) {
  const opened = await Promise.all(replies.map(backend))
  const backendRegistry = openBackendRegistry({})
  closing({ [Symbol.asyncDispose]: () => backendRegistry.close() })
  backendRegistry.apply(
    poolOver(
      opened.map(({ url }) => url),
      { backend: { apiKey: 'key' }, backends },
    ),
  )
  return { opened, backendRegistry, count: openTokenCounts(backendRegistry, withinMs) }
}

const counts =
  (tokens: unknown): Reply =>
  (response) =>
    sendJson(response, 200, { input_tokens: tokens })

test.each([{ vendor: 'anthropic' }, { dialect: 'anthropic' }, { vendor: 'vllm' }, { vendor: 'llama.cpp' }])(
  'is requested of %j, as its clients would request it',
  async (fields) => {
    const { opened, count } = await counting([counts(12)], [fields])
    const versions = { anthropicVersion: '2024-01-01', anthropicBeta: 'theirs' }
    expect(await count({ ...REQUEST, ...versions })).toEqual({ inputTokens: 12 })
    const [seen] = opened[0]!.seen
    expect(seen!.path).toBe('/v1/messages/count_tokens')
    // A control parameter stays behind here, too.
    expect(seen!.body).toEqual({ model: 'model-a', messages: [{ role: 'user', content: 'Hi' }] })
    expect(seen!.headers).toMatchObject({ 'anthropic-version': '2024-01-01', 'anthropic-beta': 'theirs' })
  },
)

test('is requested from nobody where the best target has no such endpoint: another model counts otherwise', async () => {
  const { opened, count } = await counting([counts(12), counts(13)], [{ vendor: 'openai' }, { vendor: 'anthropic' }])
  expect(await count(REQUEST)).toEqual({ inputTokens: null })
  expect(opened.flatMap(({ seen }) => seen)).toEqual([])
  expect(await count({ ...REQUEST, pool: 'gone' })).toEqual({ inputTokens: null })
})

test.each<[string, Reply]>([
  ['knows no such path', (response) => sendJson(response, 404, { error: 'not found' })],
  ['fails', (response) => sendJson(response, 500, {})],
  ['returns no count', counts('many')],
  ['returns no JSON', (response) => response.end('<html>')],
  ['does not respond', () => {}],
  ['drops the connection', (_, __, socket) => socket.destroy()],
])('is not requested again for a while of a backend that %s, which stays in service', async (_, reply) => {
  const { opened, backendRegistry, count } = await counting([reply], [{ vendor: 'anthropic' }], 300)
  expect(await count(REQUEST)).toEqual({ inputTokens: null })
  expect(await count(REQUEST)).toEqual({ inputTokens: null })
  expect(opened[0]!.seen).toHaveLength(1)
  const [only] = [...backendRegistry.backends()]
  expect(only).toMatchObject({ capacity: { outstanding: 0 }, health: { halfOpen: false } })
})

test('is requested again after a refusal of one request', async () => {
  const { opened, count } = await counting([(response) => sendJson(response, 400, {})], [{ vendor: 'anthropic' }])
  await count(REQUEST)
  opened[0]!.reply = counts(12)
  expect(await count(REQUEST)).toEqual({ inputTokens: 12 })
})

test('keeps no request from connecting: that of a backend with one slot goes beside eight counts under way', async () => {
  const open: (() => void)[] = []
  const { opened, backendRegistry, count } = await counting(
    [(response) => void open.push(() => sendJson(response, 200, { input_tokens: 1 }))],
    [{ vendor: 'anthropic', maxConcurrent: 1 }],
    60_000,
  )
  const hanging = Array.from({ length: 8 }, () => count(REQUEST))
  await expect.poll(() => open.length).toBe(8)
  opened[0]!.reply = counts(12)
  const [only] = [...backendRegistry.backends()]
  const call = { path: '/messages', headers: {}, body: Buffer.from('{}'), accept: 'application/json', requestId: 'r' }
  const exchange = only!.client.call({ ...call, budgetMs: 20_000, timeoutPolicy: NO_TIMEOUTS })
  expect(await exchange.response).toMatchObject({ status: 200 })
  exchange.discard()
  for (const reply of open) reply()
  expect(await Promise.all(hanging)).toEqual(hanging.map(() => ({ inputTokens: 1 })))
})

test('is requested by one router eight times at once, and no ninth request waits', async () => {
  const open: (() => void)[] = []
  const { opened, count } = await counting(
    [(response) => void open.push(() => sendJson(response, 200, { input_tokens: 1 }))],
    [{ vendor: 'anthropic' }],
    5_000,
  )
  const first = Array.from({ length: 8 }, () => count(REQUEST))
  expect(await count(REQUEST)).toEqual({ inputTokens: null })
  await expect.poll(() => open.length).toBe(8)
  for (const reply of open) reply()
  expect(await Promise.all(first)).toEqual(first.map(() => ({ inputTokens: 1 })))
  expect(opened[0]!.seen).toHaveLength(8)
})
