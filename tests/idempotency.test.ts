/**
 * `Idempotency-Key` on a cluster of two edges: a request runs once at a time. This holds for any number of clients, at
 * either edge, and through the death of any process. Each response whose end anyone received is paid for once.
 */

import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseKey } from '@gateway/contracts/api-key'
import { type Database, openDatabase } from '@gateway/postgres/database'
import { type Cluster, startCluster } from '@gateway/cluster/start'
import { readRedis } from '@gateway/testing/leftovers'
import { commandRedis } from '@gateway/testing/redis-command'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  userMessages,
  type Caller,
  configFor,
  type Gateway,
  newDeveloper,
  newGuest,
  newLane,
  quotaOf,
  sendRaw,
  startBackends,
} from './promises/gateway.ts'

const stack = new AsyncDisposableStack()
const SETTLED = { timeout: 60_000, interval: 100 }
const MEGABYTE = 1024 * 1024

let cluster: Cluster
let gateway: Gateway
let database: Database
let failpoints: string

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-idempotency-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  failpoints = join(dataDir, 'failpoints')
  await mkdir(failpoints)
  const backends = stack.use(new AsyncDisposableStack())
  const started = await startBackends(backends)
  const config = join(dataDir, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configFor(started, { requestsPerMinute: 1_000_000 })))
  const environment = { GATEWAY_CONFIG: config, TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn', FAILPOINTS: failpoints }
  cluster = stack.use(await startCluster({ edges: 2, routers: 2, dataDir, ownServers: true, environment }))
  const [first, ...others] = cluster.edges
  gateway = { urls: [first!, ...others], issuer: cluster.issuer, backends: started }
  database = stack.use(await openDatabase(cluster.servers.postgres.url))
})
afterAll(() => stack.disposeAsync())
afterEach(() => gateway.backends.steadyA.setSpeed({ tokensPerSecond: Infinity, firstByteDelayMs: 0 }))

interface Given {
  status: number
  headers: Headers
  text: string
  /** The connection broke before the end. */
  isBroken: boolean
}

interface Requested {
  url?: string
  idempotencyKey: string
  path?: string
  body: object
  headers?: Record<string, string>
  signal?: AbortSignal
}

async function request({ key }: Caller, requested: Requested): Promise<Response> {
  const { url, idempotencyKey, path, body, signal, headers } = requested
  return sendRaw(url ?? gateway.urls[0], path ?? '/v1/chat/completions', {
    key,
    body,
    headers: { 'idempotency-key': idempotencyKey, ...headers },
    ...(signal ? { signal } : {}),
  })
}

async function post(caller: Caller, requested: Requested): Promise<Given> {
  return read(await request(caller, requested))
}

async function read(response: Response): Promise<Given> {
  const given = { status: response.status, headers: response.headers, text: '', isBroken: false }
  try {
    for await (const bytes of response.body!) given.text += Buffer.from(bytes).toString()
  } catch {
    given.isBroken = true
  }
  return given
}

const chat = (content: string, fields: object = {}) => ({
  model: 'svc-core',
  messages: userMessages(content),
  ...fields,
})
const code = ({ text }: Given): unknown => {
  const { code: flat, error } = JSON.parse(text) as { code?: unknown; error?: { code?: unknown } }
  return flat ?? error?.code
}
const isComplete = ({ text }: Given): boolean => text.endsWith('data: [DONE]\n\n')
const isReplayed = ({ headers }: Given): boolean => headers.get('idempotent-replayed') === 'true'

/** Counts the backend's calls with this content. */
function callsFor(content: string): number {
  return gateway.backends.steadyA.calls.filter(({ body }) => JSON.stringify(body).includes(content)).length
}

interface Row {
  request_id: string
  outcome: string
  delivered: boolean
  charge: number
  voided_by: string | null
}

async function rowsOf({ key }: Caller): Promise<Row[]> {
  const { rows } = await database.query<Row>(
    'select request_id, outcome, delivered, charge, voided_by from metering.ledger where account = $1 order by request_id',
    [parseKey(key)!.accountTag],
  )
  return rows
}

/** Of a request that ran twice, because the first run lost its edge: only the delivered one is paid for, everywhere. */
async function expectOnePaid(developer: Caller): Promise<void> {
  const charges = async () =>
    (await rowsOf(developer)).map(({ delivered, charge }) => ({ delivered, isPaid: charge > 0 }))
  await expect.poll(async () => (await charges()).length, SETTLED).toBe(2)
  await expect
    .poll(
      async () => (await charges()).toSorted((one, other) => Number(one.delivered) - Number(other.delivered)),
      SETTLED,
    )
    .toEqual([
      { delivered: false, isPaid: false },
      { delivered: true, isPaid: true },
    ])
  const rows = await rowsOf(developer)
  const winner = rows.find(({ delivered }) => delivered)!
  expect(rows.filter(({ voided_by }) => voided_by === winner.request_id)).toMatchObject([{ outcome: 'edge_lost' }])
  const paid = rows.reduce((sum, { charge }) => sum + charge, 0)
  await expect.poll(async () => (await quotaOf(developer, gateway.urls[0])).used * 1_000, SETTLED).toBe(paid)
  const { text, headers } = await post(developer, { idempotencyKey: randomUUID(), body: chat('Say: standing') })
  expect(text).not.toBe('')
  expect(Number(headers.get('x-svc-quota-used')) * 1_000 - (await lastChargeOf(developer))).toBe(paid)
}

async function lastChargeOf(developer: Caller): Promise<number> {
  await expect.poll(async () => (await rowsOf(developer)).length, SETTLED).toBe(3)
  return (await rowsOf(developer)).at(-1)!.charge
}

/** Words that no other test says, enough of them to take a while. */
function longQuestion(words: number): string {
  return `${words} words on ${randomUUID()}`
}

function slowly(): void {
  gateway.backends.steadyA.setSpeed({ tokensPerSecond: 60 })
}

describe('requested at the same time', () => {
  test.each([
    ['streamed', true],
    ['plain', false],
  ])('by fifty clients at two edges, %s: one runs, all are given the same', async (_, stream) => {
    slowly()
    const developer = await newDeveloper(gateway)
    const idempotencyKey = randomUUID()
    const question = longQuestion(90)
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_each, index) =>
        post(developer, { url: gateway.urls[index % 2]!, idempotencyKey, body: chat(question, { stream }) }),
      ),
    )
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
    expect(replies[0]!.text).toContain(stream ? 'data: [DONE]' : '"chat.completion"')
    expect(replies[0]!.headers.get('content-type')).toMatch(stream ? /^text\/event-stream/ : /^application\/json/)
    expect(replies.filter(isReplayed)).toHaveLength(49)
    expect(new Set(replies.map(({ headers }) => headers.get('x-request-id'))).size).toBe(1)
    for (const { headers } of replies) expect(headers.get('x-svc-upstream')).toBe('nova')
    expect(callsFor(question)).toBe(1)
    await expect.poll(() => rowsOf(developer), SETTLED).toHaveLength(1)
    expect((await rowsOf(developer))[0]).toMatchObject({
      request_id: replies[0]!.headers.get('x-request-id'),
      outcome: 'completed',
      delivered: true,
    })
  })

  test('a client that comes late gets the earlier pieces at once, and then each piece as it comes', async () => {
    slowly()
    const developer = await newDeveloper(gateway)
    const idempotencyKey = randomUUID()
    const body = chat(longQuestion(90), { stream: true })
    const first = await request(developer, { url: gateway.urls[0], idempotencyKey, body })
    let isFirstOver = false
    const reading = read(first).finally(() => (isFirstOver = true))
    await sleep(500)
    const startedAtMs = performance.now()
    const late = await request(developer, { url: gateway.urls[1]!, idempotencyKey, body })
    const arrivals: number[] = []
    let text = ''
    for await (const bytes of late.body!) {
      if (arrivals.length === 0) expect(isFirstOver).toBe(false)
      arrivals.push(performance.now() - startedAtMs)
      text += Buffer.from(bytes).toString()
    }
    expect(text).toBe((await reading).text)
    expect(arrivals.length).toBeGreaterThan(10)
    expect(arrivals.at(-1)).toBeGreaterThan(400)
  })

  test('with another body under the same key, running or kept: a 400 that names the header', async () => {
    slowly()
    const developer = await newDeveloper(gateway)
    const idempotencyKey = randomUUID()
    const question = longQuestion(40)
    const running = post(developer, { idempotencyKey, body: chat(question) })
    await expect.poll(() => callsFor(question), SETTLED).toBe(1)
    const others = [
      { path: '/v1/chat/completions', body: chat(`${question}!`) },
      { path: '/v1/chat/completions', body: chat(question, { stream: true }) },
      { path: '/v1/chat/completions', body: chat(question, { model: 'svc-fast' }) },
      { path: '/v1/embeddings', body: { model: 'svc-embed', input: question } },
    ]
    const expectRefused = async () => {
      for (const [index, other] of others.entries()) {
        const refused = await post(developer, { url: gateway.urls[index % 2]!, idempotencyKey, ...other })
        expect({ status: refused.status, code: code(refused) }).toEqual({ status: 400, code: 'VALIDATION_ERROR' })
        expect(refused.text).toContain('Idempotency-Key')
        expect(refused.headers.get('x-should-retry')).toBe('false')
      }
    }
    await expectRefused()
    expect((await running).status).toBe(200)
    await expectRefused()
    // The form of the JSON makes no difference, only its content.
    const spaced = await post(developer, { idempotencyKey, body: { ...chat(question), stream: false } })
    expect({ status: spaced.status, isReplayed: isReplayed(spaced) }).toEqual({ status: 200, isReplayed: true })
    expect(callsFor(question)).toBe(1)
  })
})

describe('requested again', () => {
  const kinds: [string, string, (question: string) => object][] = [
    ['a stream', '/v1/chat/completions', (question) => chat(question, { stream: true, model: 'svc-best' })],
    ['a completion', '/v1/chat/completions', (question) => chat(question, { model: 'svc-best' })],
    ['embeddings', '/v1/embeddings', (question) => ({ model: 'svc-embed', input: question })],
    ['an image', '/v1/images/generations', (question) => ({ model: 'svc-image', prompt: question, size: '256x256' })],
  ]
  test.each(kinds)('%s is given as it was, from any edge, and paid for once', async (_, path, bodyFor) => {
    const developer = await newDeveloper(gateway)
    const idempotencyKey = `order/${randomUUID()}#1`
    const body = bodyFor(`Say: ${randomUUID()}`)
    const first = await post(developer, { idempotencyKey, path, body })
    expect(first.status).toBe(200)
    expect(isReplayed(first)).toBe(false)
    await expect.poll(async () => (await quotaOf(developer, gateway.urls[0])).used, SETTLED).toBeGreaterThan(0)
    const { used } = await quotaOf(developer, gateway.urls[0])
    for (const url of [gateway.urls[1]!, gateway.urls[0]]) {
      const again = await post(developer, { url, idempotencyKey, path, body })
      expect(again.status).toBe(200)
      expect(again.text).toBe(first.text)
      expect(isReplayed(again)).toBe(true)
      for (const name of ['x-request-id', 'x-svc-upstream', 'x-svc-smart-route', 'content-type']) {
        expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)])
      }
      expect(Number(again.headers.get('x-svc-quota-used'))).toBeCloseTo(used, 6)
      expect(again.headers.get('x-svc-quota-reset')).toBe(first.headers.get('x-svc-quota-reset'))
      expect(again.headers.get('x-svc-quota-limit')).toBe(first.headers.get('x-svc-quota-limit'))
    }
    expect(await rowsOf(developer)).toHaveLength(1)
  })

  test('by the official client, which sends a key with every request once it knows the header', async () => {
    const developer = await newDeveloper(gateway)
    class Client extends OpenAI {
      protected override idempotencyHeader = 'Idempotency-Key'
    }
    const client = new Client({ baseURL: `${gateway.urls[0]}/v1`, apiKey: developer.key, maxRetries: 0 })
    const question = `Say: ${randomUUID()}`
    const idempotencyKey = randomUUID()
    const create = () =>
      client.chat.completions.create({ model: 'svc-core', messages: userMessages(question) }, { idempotencyKey })
    const first = await create()
    expect(await create()).toEqual(first)
    const headers = { 'Idempotency-Key': idempotencyKey }
    const plain = await developer.client.chat.completions
      .create({ model: 'svc-core', messages: userMessages(question) }, { headers })
      .withResponse()
    expect(plain.data).toMatchObject({ id: first.id })
    expect(plain.response.headers.get('idempotent-replayed')).toBe('true')
    expect(callsFor(question)).toBe(1)
  })

  test('by another account, or with another key: that is another request', async () => {
    const question = `Say: ${randomUUID()}`
    const idempotencyKey = randomUUID()
    const callers = [await newDeveloper(gateway), await newDeveloper(gateway)]
    for (const caller of callers)
      expect(isReplayed(await post(caller, { idempotencyKey, body: chat(question) }))).toBe(false)
    const other = await post(callers[0]!, { idempotencyKey: `${idempotencyKey}2`, body: chat(question) })
    expect(isReplayed(other)).toBe(false)
    expect(callsFor(question)).toBe(3)
  })

  test('with a key that is dead: 401, even where a response is kept under it', async () => {
    const developer = await newDeveloper(gateway)
    const idempotencyKey = randomUUID()
    const body = chat(`Say: ${randomUUID()}`)
    expect((await post(developer, { idempotencyKey, body })).status).toBe(200)
    await fetch(`${gateway.urls[0]}/v1/keys/developer/revoke`, {
      method: 'POST',
      headers: { authorization: `Bearer ${developer.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ key: developer.key }),
    })
    const again = await post(developer, { idempotencyKey, body })
    expect({ status: again.status, code: code(again) }).toEqual({ status: 401, code: 'INVALID_KEY' })
  })

  test('after its time: it runs again', async () => {
    const developer = await newDeveloper(gateway)
    const question = `Say: ${randomUUID()}`
    const requested = { idempotencyKey: randomUUID(), body: chat(question) }
    await post(developer, requested)
    const redis = (...command: [string, ...string[]]) => commandRedis(cluster.servers.redis.url, ...command)
    const [record] = (await redis('KEYS', `idem:{${parseKey(developer.key)!.accountTag}}:key:*`)) as [string]
    const leftMs = await redis('PTTL', record)
    expect(leftMs).toBeGreaterThan(86_000_000)
    expect(leftMs).toBeLessThanOrEqual(86_400_000)
    await redis('PEXPIRE', record, '1')
    await sleep(10)
    expect(isReplayed(await post(developer, requested))).toBe(false)
    expect(callsFor(question)).toBe(2)
  })

  test.each([
    ['a stream', true],
    ['a completion', false],
  ])('%s of more than a megabyte is not kept: it runs again and is charged', async (_, stream) => {
    const developer = await newDeveloper(gateway)
    const { model, first } = newLane(gateway)
    gateway.backends.frail.fail({ backend: first, sizeBytes: 3 * MEGABYTE })
    const requested = {
      idempotencyKey: randomUUID(),
      body: { model, messages: userMessages('everything'), stream, max_tokens: 500_000 },
    }
    const replies = await Promise.all(gateway.urls.map((url) => post(developer, { url, ...requested })))
    for (const { status, text } of replies) {
      expect(status).toBe(200)
      expect(text.length).toBeGreaterThan(3 * MEGABYTE)
    }
    expect(isReplayed(await post(developer, requested))).toBe(false)
    await expect.poll(async () => (await rowsOf(developer)).length, SETTLED).toBeGreaterThanOrEqual(2)
    expect((await rowsOf(developer)).every(({ outcome }) => outcome === 'completed')).toBe(true)
  })

  test('the key must be 1 to 255 visible ASCII characters', async () => {
    const developer = await newDeveloper(gateway)
    const body = chat('Say: hi')
    for (const idempotencyKey of ['', 'x'.repeat(256), 'two words', 'schl\u00fcssel']) {
      const refused = await post(developer, { idempotencyKey, body })
      expect({ status: refused.status, code: code(refused) }).toEqual({ status: 400, code: 'VALIDATION_ERROR' })
      expect(refused.text).toContain('Idempotency-Key')
    }
    expect((await post(developer, { idempotencyKey: '~'.repeat(255), body })).status).toBe(200)
  })
})

describe('a failure is not kept', () => {
  test('no backend could respond: the next attempt runs, and all that waited got the error', async () => {
    const developer = await newDeveloper(gateway)
    const { model, first, second } = newLane(gateway)
    const faults = [first, second].map((backend) => {
      return gateway.backends.frail.fail({ backend, status: 500, firstByteDelayMs: 300 })
    })
    const requested = { idempotencyKey: randomUUID(), body: { model, messages: userMessages('Say: back') } }
    const refused = await Promise.all(gateway.urls.map((url) => post(developer, { url, ...requested })))
    for (const reply of refused) {
      expect({ status: reply.status, code: code(reply) }).toEqual({ status: 503, code: 'UPSTREAMS_EXHAUSTED' })
    }
    for (const fault of faults) fault.cancel()
    const served = async () => (await post(developer, requested)).status
    await expect.poll(served, SETTLED).toBe(200)
    expect(isReplayed(await post(developer, requested))).toBe(true)
    await expect.poll(() => rowsOf(developer), SETTLED).toHaveLength(1)
  })

  test('a refusal of the plan, the day or the allowance leaves the key free for any request', async () => {
    const guest = await newGuest(gateway)
    const idempotencyKey = randomUUID()
    const paid = await post(guest, { idempotencyKey, body: chat('Say: hi', { model: 'svc-pro' }) })
    expect({ status: paid.status, type: typeOf(paid) }).toEqual({ status: 429, type: 'plan_limit' })
    const body = chat('Say: hi', { model: 'svc-instant' })
    expect((await post(guest, { idempotencyKey, body })).status).toBe(200)
    // The whole allowance at once.
    const spend = { text: 'x', usage: { prompt_tokens: 6_000, completion_tokens: 1, total_tokens: 6_001 } }
    const fault = gateway.backends.steadyA.fail({ ...spend, model: 'sim-spark-8b' })
    await post(guest, { idempotencyKey: randomUUID(), body })
    fault.cancel()
    await expect.poll(async () => (await quotaOf(guest, gateway.urls[0])).remaining, SETTLED).toBe(0)
    const spent = randomUUID()
    expect((await post(guest, { idempotencyKey: spent, body })).status).toBe(402)
    expect(
      (await post(guest, { idempotencyKey: spent, body: chat('Say: else', { model: 'svc-instant' }) })).status,
    ).toBe(402)
    // A response that was paid for is still given.
    const again = await post(guest, { idempotencyKey, body })
    expect({ status: again.status, isReplayed: isReplayed(again) }).toEqual({ status: 200, isReplayed: true })
  })

  const typeOf = ({ text }: Given): unknown => (JSON.parse(text) as { error: { type?: unknown } }).error.type
})

describe('when someone goes', () => {
  test('its client: the request runs on, and the next attempt is given it from the beginning', async () => {
    slowly()
    const developer = await newDeveloper(gateway)
    const question = longQuestion(60)
    const requested = { idempotencyKey: randomUUID(), body: chat(question, { stream: true }) }
    const leaving = new AbortController()
    const first = await request(developer, { ...requested, signal: leaving.signal })
    const seen = await first.body!.getReader().read()
    leaving.abort()
    await sleep(200)
    const again = await post(developer, { url: gateway.urls[1]!, ...requested })
    expect(isComplete(again)).toBe(true)
    expect(again.text.startsWith(Buffer.from(seen.value).toString())).toBe(true)
    expect(again.headers.get('x-request-id')).toBe(first.headers.get('x-request-id'))
    expect(callsFor(question)).toBe(1)
    await expect.poll(() => rowsOf(developer), SETTLED).toMatchObject([{ outcome: 'completed', delivered: true }])
  })

  test('its client, after the timeout that it declared: its next attempt gets the response that this one did not wait for', async () => {
    gateway.backends.steadyA.setSpeed({ firstByteDelayMs: 1_500 })
    const developer = await newDeveloper(gateway)
    const question = `Say: ${randomUUID()}`
    const headers = { 'x-stainless-timeout': '1' }
    const requested = { idempotencyKey: randomUUID(), body: chat(question), headers }
    await expect(post(developer, { ...requested, signal: AbortSignal.timeout(1_000) })).rejects.toThrow()
    expect(await post(developer, requested)).toMatchObject({ status: 200 })
    expect(callsFor(question)).toBe(1)
  })

  test('its edge, by kill -9: the next attempt runs, never beside the first, and one response is delivered', async () => {
    slowly()
    const developer = await newDeveloper(gateway)
    const question = longQuestion(400)
    const requested = { idempotencyKey: randomUUID(), body: chat(question, { stream: true }) }
    const first = await request(developer, { url: gateway.urls[1]!, ...requested })
    const broken = read(first)
    const following = read(await request(developer, { url: gateway.urls[0], ...requested }))
    await sleep(500)
    const killedAtMs = Date.now()
    cluster.process('edge-2').kill('SIGKILL')
    gateway.backends.steadyA.setSpeed({ tokensPerSecond: Infinity })
    expect((await broken).isBroken).toBe(true)

    const again = await post(developer, { url: gateway.urls[0], ...requested })
    expect(isComplete(again)).toBe(true)
    expect(isReplayed(again)).toBe(false)
    expect(Date.now() - killedAtMs).toBeLessThan(60_000)
    const followed = await following
    expect(followed.text).toContain('"error"')
    expect(followed.text).not.toContain('[DONE]')
    expect(callsFor(question)).toBe(2)
    const [lost, next] = gateway.backends.steadyA.calls.filter(({ body }) => JSON.stringify(body).includes(question))
    expect(lost!.outcome).toBe('aborted')
    expect(next!.startedAtMs).toBeGreaterThanOrEqual(lost!.endedAtMs!)
    await expectOnePaid(developer)
    await cluster.process('edge-2').ready()
  })

  test('its edge, and then Redis forgets the claim: the next attempt runs, and one response is paid for', async () => {
    slowly()
    const developer = await newDeveloper(gateway)
    const question = longQuestion(400)
    const requested = { idempotencyKey: randomUUID(), body: chat(question, { stream: true }) }
    const broken = read(await request(developer, { url: gateway.urls[1]!, ...requested }))
    await sleep(500)
    cluster.process('edge-2').kill('SIGKILL')
    expect((await broken).isBroken).toBe(true)
    await commandRedis(cluster.servers.redis.url, 'FLUSHALL')
    gateway.backends.steadyA.setSpeed({ tokensPerSecond: Infinity })
    expect(isComplete(await post(developer, { url: gateway.urls[0], ...requested }))).toBe(true)
    await expectOnePaid(developer)
    await cluster.process('edge-2').ready()
  })

  test('its edge, while a plain client of the other edge waits: that client gets a response all the same', async () => {
    const developer = await newDeveloper(gateway)
    const question = longQuestion(20)
    gateway.backends.steadyA.setSpeed({ firstByteDelayMs: 1_500 })
    const requested = { idempotencyKey: randomUUID(), body: chat(question) }
    const first = post(developer, { url: gateway.urls[1]!, ...requested }).catch(() => null)
    await expect.poll(() => callsFor(question), SETTLED).toBe(1)
    const waiting = post(developer, { url: gateway.urls[0], ...requested })
    await sleep(200)
    cluster.process('edge-2').kill('SIGKILL')
    expect(await first).toBeNull()
    const reply = await waiting
    expect({ status: reply.status, isReplayed: isReplayed(reply) }).toEqual({ status: 200, isReplayed: false })
    expect(reply.headers.get('x-svc-upstream')).toBe('nova')
    await expectOnePaid(developer)
    await cluster.process('edge-2').ready()
  })

  test.each(['edge.response-kept', 'edge.response-metered'])(
    'its edge at %s, before its end was given: the next attempt gets the response, and it is paid for once',
    async (point) => {
      const developer = await newDeveloper(gateway)
      const question = longQuestion(20)
      const requested = { idempotencyKey: randomUUID(), body: chat(question, { stream: true }) }
      await writeFile(join(failpoints, point), '')
      const broken = await post(developer, { url: gateway.urls[1]!, ...requested })
      expect({ isBroken: broken.isBroken, isComplete: isComplete(broken) }).toEqual({
        isBroken: true,
        isComplete: false,
      })
      const again = await post(developer, { url: gateway.urls[0], ...requested })
      expect({ isComplete: isComplete(again), isReplayed: isReplayed(again) }).toEqual({
        isComplete: true,
        isReplayed: true,
      })
      expect(again.text.startsWith(broken.text)).toBe(true)
      const expected = { request_id: broken.headers.get('x-request-id'), outcome: 'completed', delivered: true }
      await expect.poll(() => rowsOf(developer), SETTLED).toMatchObject([expected])
      expect((await rowsOf(developer))[0]!.charge).toBeGreaterThan(0)
      expect(callsFor(question)).toBe(1)
      await cluster.process('edge-2').ready()
    },
  )

  test('its edge, frozen for longer than its claim: another takes over, and the first gives way when it wakes', async () => {
    slowly()
    const developer = await newDeveloper(gateway)
    const question = longQuestion(600)
    const requested = { idempotencyKey: randomUUID(), body: chat(question, { stream: true }) }
    const frozen = read(await request(developer, { url: gateway.urls[1]!, ...requested }))
    await sleep(500)
    cluster.process('edge-2').kill('SIGSTOP')
    gateway.backends.steadyA.setSpeed({ tokensPerSecond: Infinity })
    const again = await post(developer, { url: gateway.urls[0], ...requested })
    cluster.process('edge-2').kill('SIGCONT')
    expect({ isComplete: isComplete(again), isReplayed: isReplayed(again) }).toEqual({
      isComplete: true,
      isReplayed: false,
    })
    expect(isComplete(await frozen)).toBe(false)
    expect(callsFor(question)).toBe(2)
    await expectOnePaid(developer)
  })

  test('Redis: a new request with a key is a 503; one that runs gets its response, which is kept when Redis is back', async () => {
    slowly()
    const developer = await newDeveloper(gateway)
    const question = longQuestion(60)
    const requested = { idempotencyKey: randomUUID(), body: chat(question, { stream: true }) }
    const running = read(await request(developer, requested))
    await cluster.servers.redis.kill('SIGSTOP')
    const refused = await post(developer, { idempotencyKey: randomUUID(), body: chat('Say: hi') })
    expect({ status: refused.status, code: code(refused) }).toEqual({ status: 503, code: 'SERVICE_UNAVAILABLE' })
    expect(refused.headers.get('x-should-retry')).toBeNull()
    expect(isComplete(await running)).toBe(true)
    // Long enough for the claim to lapse.
    await sleep(6_000)
    await cluster.servers.redis.kill('SIGCONT')
    const status = async () => (await post(developer, { idempotencyKey: randomUUID(), body: chat('Say: hi') })).status
    await expect.poll(status, SETTLED).toBe(200)
    const again = await post(developer, requested)
    expect({ text: again.text, isReplayed: isReplayed(again) }).toEqual({
      text: (await running).text,
      isReplayed: true,
    })
    expect(callsFor(question)).toBe(1)
  })
})

test('nothing that Redis holds shows a key, a prompt or a response', async () => {
  const developer = await newDeveloper(gateway)
  const secret = `canary${randomUUID()}`
  const idempotencyKey = `key${randomUUID()}`
  await post(developer, { idempotencyKey, body: chat(`Say: ${secret}`) })
  await post(developer, { idempotencyKey: `${idempotencyKey}s`, body: chat(`Say: ${secret}`, { stream: true }) })
  let kept = 0
  for await (const { place, content } of readRedis(cluster.servers.redis.url)) {
    if (place.includes(`idem:{${parseKey(developer.key)!.accountTag}}:key:`)) kept++
    for (const hidden of [secret, idempotencyKey]) {
      expect([place, content.includes(hidden), content.includes(Buffer.from(hidden).toString('base64url'))]).toEqual([
        place,
        false,
        false,
      ])
    }
  }
  expect(kept).toBe(2)
})
