/**
 * Limits come before work: a client that has used up its minute, or sends a wrong request, costs an edge no reading of
 * bodies.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatKey, KEY_SECRET_LENGTH, parseKey } from '@gateway/contracts/api-key'
import {
  type Reply,
  userMessages,
  configFor,
  NARROW_PLANS,
  newDeveloperOn,
  send,
  startBackends,
} from './promises/gateway.ts'
import type { OperatedGateway } from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const CHAT = '/v1/chat/completions'
const chat = { model: 'svc-instant', messages: userMessages('Say: hi'), max_tokens: 10 }
/** An edge that reads it finds no JSON. */
const LARGE_AND_BROKEN = `{"model":"svc-instant","messages":[${'x'.repeat(200_000)}`
const LARGE_PROMPT = userMessages('word '.repeat(20_000))
/** Three requests a minute, and no model of the paid plans. */
const UNPAID = { slug: 'three-unpaid', limit: 1e9, rpm: 3, tpm: 1e9 }

const stack = new AsyncDisposableStack()
let gateway: OperatedGateway
let url: string

beforeAll(async () => {
  const backends = await startBackends(stack)
  const config = configFor(backends) as { plans: object[] }
  const standalone = stack.use(await startStandalone({ config: { ...config, plans: [...config.plans, UNPAID] } }))
  url = standalone.url
  gateway = { urls: [url], issuer: standalone.issuer, backends, dataDir: standalone.dataDir }
})
afterAll(() => stack.disposeAsync())

const post = (key: string, body: unknown, path = CHAT) => send(url, path, { key, body })
const postOnce = (key: string, name: string, body: unknown) =>
  send(url, CHAT, { key, body, headers: { 'idempotency-key': name } })
const refusalOf = ({ status, body }: Reply) => [status, (body['error'] as { type?: string } | undefined)?.type]

describe('a large body is refused before it is read', () => {
  test('where its minute of requests is used up', async () => {
    const { key } = await newDeveloperOn(gateway, NARROW_PLANS.threeAMinute.slug)
    for (let turn = 0; turn < 3; turn++) expect((await post(key, chat)).status).toBe(200)
    const refused = await post(key, LARGE_AND_BROKEN)
    expect(refusalOf(refused)).toEqual([429, 'requests'])
    const waitMs = (refused.body['error'] as { retry_after_ms: number }).retry_after_ms
    expect(waitMs).toBeGreaterThan(40_000)
    expect(refused.headers.get('retry-after-ms')).toBe(String(waitMs))
  })

  test('where a prompt before it has left a debt of tokens', async () => {
    const { key } = await newDeveloperOn(gateway, NARROW_PLANS.hundredTokensASecond.slug)
    const long = { ...chat, messages: userMessages('word '.repeat(40_000)) }
    expect((await post(key, long)).status).toBe(200)
    expect(refusalOf(await post(key, LARGE_AND_BROKEN))).toEqual([429, 'tokens'])
  })

  test('where its allowance is used up', async () => {
    const { key } = await newDeveloperOn(gateway, NARROW_PLANS.thousandTokens.slug)
    const long = { ...chat, messages: userMessages('word '.repeat(2_000)) }
    expect((await post(key, long)).status).toBe(200)
    await expect.poll(async () => (await post(key, chat)).status, { timeout: 10_000 }).toBe(402)
    expect((await post(key, LARGE_AND_BROKEN)).status).toBe(402)
  })
})

describe('a wrong request takes its place in the minute', () => {
  test.each<[string, unknown]>([
    ['no JSON', '{"model":'],
    ['a wrong field', { ...chat, messages: 'hi' }],
    ['a model that does not exist', { ...chat, model: 'nothing' }],
    ['a large one', LARGE_AND_BROKEN],
  ])('%s', async (_name, wrong) => {
    const { key } = await newDeveloperOn(gateway, NARROW_PLANS.threeAMinute.slug)
    expect((await post(key, wrong)).status).toBeOneOf([400, 404])
    expect((await post(key, chat)).status).toBe(200)
    expect((await post(key, wrong)).status).toBeOneOf([400, 404])
    expect(refusalOf(await post(key, wrong))).toEqual([429, 'requests'])
    expect(refusalOf(await post(key, chat))).toEqual([429, 'requests'])
  })

  test('a large one for a model outside of its plan, which the edge has read; a small one takes none', async () => {
    const { key } = await newDeveloperOn(gateway, UNPAID.slug)
    const outside = { ...chat, model: 'svc-pro' }
    for (let turn = 0; turn < 4; turn++) expect(refusalOf(await post(key, outside))).toEqual([429, 'plan_limit'])
    const large = { ...outside, messages: LARGE_PROMPT }
    for (let turn = 0; turn < 3; turn++) expect(refusalOf(await post(key, large))).toEqual([429, 'plan_limit'])
    expect(refusalOf(await post(key, large))).toEqual([429, 'requests'])
    expect(refusalOf(await post(key, LARGE_AND_BROKEN))).toEqual([429, 'requests'])
  })

  test('one under an Idempotency-Key of another request, and one under no valid Idempotency-Key', async () => {
    const { key } = await newDeveloperOn(gateway, NARROW_PLANS.threeAMinute.slug)
    expect((await postOnce(key, 'first', chat)).status).toBe(200)
    expect((await postOnce(key, 'first', { ...chat, messages: LARGE_PROMPT })).status).toBe(400)
    expect((await postOnce(key, 'a b', chat)).status).toBe(400)
    expect(refusalOf(await postOnce(key, 'first', { ...chat, messages: LARGE_PROMPT }))).toEqual([429, 'requests'])
    expect(refusalOf(await postOnce(key, 'a b', chat))).toEqual([429, 'requests'])
    expect((await postOnce(key, 'first', chat)).status).toBe(200)
    expect(refusalOf(await post(key, chat))).toEqual([429, 'requests'])
  })

  test('and nothing else: an account without allowance still learns the mistake in its request', async () => {
    const { key } = await newDeveloperOn(gateway, NARROW_PLANS.thousandTokens.slug)
    expect((await post(key, { ...chat, messages: userMessages('word '.repeat(2_000)) })).status).toBe(200)
    await expect.poll(async () => (await post(key, chat)).status, { timeout: 10_000 }).toBe(402)
    expect((await post(key, { ...chat, messages: 'hi' })).status).toBe(400)
  })

  test('a stranger with a dead key takes none in the name of its former owner', async () => {
    const { key } = await newDeveloperOn(gateway, NARROW_PLANS.threeAMinute.slug)
    const forged = formatKey({ ...parseKey(key)!, secret: 'A'.repeat(KEY_SECRET_LENGTH) })
    for (let turn = 0; turn < 5; turn++) expect((await post(forged, '{"model":')).status).toBe(401)
    for (let turn = 0; turn < 3; turn++) expect((await post(key, chat)).status).toBe(200)
  })
})

describe('counts of tokens and quotes have a rate of their own', () => {
  test('as many a minute as the plan has requests, before their body is read; requests are no part of it', async () => {
    const { key } = await newDeveloperOn(gateway, NARROW_PLANS.threeAMinute.slug)
    const count = { model: 'svc-instant', messages: userMessages('hi') }
    for (let turn = 0; turn < 2; turn++) expect((await post(key, count, '/v1/messages/count_tokens')).status).toBe(200)
    expect((await post(key, chat, '/v1/quote')).status).toBe(200)
    const refused = await post(key, LARGE_AND_BROKEN, '/v1/messages/count_tokens')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after-ms'))).toBeGreaterThan(15_000)
    expect((await post(key, LARGE_AND_BROKEN, '/v1/quote')).status).toBe(429)
    for (let turn = 0; turn < 3; turn++) expect((await post(key, chat)).status).toBe(200)
  })
})

/**
 * Sends a request again on each of 64 connections as soon as the response came. Returns the number of responses, and
 * the seconds that they took.
 */
async function crowd(sendRequest: () => Promise<Reply>): Promise<{ replies: number; seconds: number }> {
  const sinceMs = performance.now()
  let replies = 0
  const connection = async () => {
    while (performance.now() - sinceMs < 2_000) {
      await sendRequest()
      replies++
    }
  }
  await Promise.all(Array.from({ length: 64 }, connection))
  return { replies, seconds: (performance.now() - sinceMs) / 1_000 }
}

test.each(['/billing/quota', '/v1/usage', '/v1/plan'])(
  '64 connections that request %s take an eighth of an edge',
  async (path) => {
    const { key } = await newDeveloperOn(gateway, NARROW_PLANS.tokenAMillisecond.slug)
    const { replies, seconds } = await crowd(() => send(url, path, { key }))
    // Each counts for half a millisecond, and 40 ms are free.
    expect(replies).toBeLessThanOrEqual((seconds * 125 + 40) / 0.5 + 64)
  },
)

test('an ended request shows in quota and usage at once, however often clients queried them before', async () => {
  const { key } = await newDeveloperOn(gateway, NARROW_PLANS.tokenAMillisecond.slug)
  const used = async () => {
    const [quota, usage] = await Promise.all(['/billing/quota', '/v1/usage'].map((path) => send(url, path, { key })))
    return [quota!.body['used'] as number, (usage!.body['totals'] as { requests: number }).requests]
  }
  let before = 0
  for (let request = 1; request <= 3; request++) {
    expect((await post(key, chat)).status).toBe(200)
    const crowd = await Promise.all(Array.from({ length: 64 }, used))
    for (const [tokens, requests] of crowd) expect([tokens! > before, requests]).toEqual([true, request])
    before = crowd[0]![0]!
  }
})
