/**
 * Signed receipts on a cluster of two edges. Anyone verifies a receipt with `jose` and the published keys alone.
 */

import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { parseKey } from '@gateway/contracts/api-key'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { type Database, openDatabase } from '@gateway/postgres/database'
import { compactVerify, createRemoteJWKSet } from 'jose'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { configFor, type Gateway, newDeveloper, startBackends, userMessages } from './promises/gateway.ts'
import { runCtl } from './promises/run-ctl.ts'

const SETTLED = { timeout: 60_000, interval: 100 }
const stack = new AsyncDisposableStack()
let dataDir: string
let cluster: Cluster
let gateway: Gateway
let database: Database
let key: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gateway-receipts-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const backends = await startBackends(stack)
  const config = join(dataDir, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configFor(backends, { requestsPerMinute: 1_000_000 })))
  const environment = { GATEWAY_CONFIG: config, TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn' }
  cluster = stack.use(await startCluster({ edges: 2, routers: 1, dataDir, ownServers: true, environment }))
  const [first, ...others] = cluster.edges
  gateway = { urls: [first!, ...others], issuer: cluster.issuer, backends }
  database = stack.use(await openDatabase(cluster.servers.postgres.url))
  key = (await newDeveloper(gateway)).key
})
afterAll(() => stack.disposeAsync())

interface Given {
  status: number
  headers: IncomingMessage['headers']
  trailers: IncomingMessage['trailers']
  body: Buffer
}

async function post(path: string, body: object, headers: Record<string, string> = {}, edge = 0): Promise<Given> {
  const sent = httpRequest(`${gateway.urls[edge]}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
  })
  sent.end(JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const received = await buffer(response)
  return { status: response.statusCode!, headers: response.headers, trailers: response.trailers, body: received }
}

const WANTED = { 'x-svc-receipt': '1' }
const chat = (content: string, fields: object = {}) => ({
  model: 'svc-core',
  messages: userMessages(content),
  ...fields,
})

interface Claims {
  jti: string
  account: string
  model: string
  usage: { prompt_tokens: number; completion_tokens: number }
  charge: { amount: string; unit: string }
  content: { bytes: number; sha256: string }
}

/** With the keys of the edge that did not sign. */
async function verified(receipt: string): Promise<Claims> {
  const published = createRemoteJWKSet(new URL('/.well-known/jwks.json', gateway.urls[1] ?? gateway.urls[0]))
  const { payload } = await compactVerify(receipt, published)
  return JSON.parse(Buffer.from(payload).toString()) as Claims
}

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

/** The ledger's row, in the units of the receipt. */
async function ledgerRow(requestId: string) {
  const read = async () =>
    (
      await database.query<{ account: string; charge: string; prompt_tokens: number; completion_tokens: number }>(
        'select account, charge, prompt_tokens, completion_tokens from metering.ledger where request_id = $1',
        [requestId],
      )
    ).rows
  await expect.poll(async () => (await read()).length, SETTLED).toBe(1)
  return (await read())[0]!
}

async function expectLikeLedger({ jti, account, usage, charge }: Claims): Promise<void> {
  const row = await ledgerRow(jti)
  expect(account).toBe(`proj_${row.account}`)
  expect(usage).toMatchObject({ prompt_tokens: row.prompt_tokens, completion_tokens: row.completion_tokens })
  expect(charge.unit).toBe('tokens')
  expect(Number(charge.amount) * 1_000).toBe(Number(row.charge))
}

test('while nobody can sign, a request for a receipt is refused before it costs anything, and others are served', async () => {
  const keys = cluster.processes.find(({ plan }) => plan.service === 'keys')!
  expect((await post('/v1/chat/completions', chat('first'))).status).toBe(200)
  keys.kill('SIGSTOP')
  const refused = await post('/v1/chat/completions', chat('unsigned'), WANTED).finally(() => keys.kill('SIGCONT'))
  expect(refused.status).toBe(503)
  const { steadyA } = gateway.backends
  expect(steadyA.calls.filter(({ body }) => JSON.stringify(body).includes('unsigned'))).toEqual([])
})

test('a plain response has its receipt in the trailer, over the exact bytes, with the figures of the ledger', async () => {
  const { headers, trailers, body } = await post('/v1/chat/completions', chat('plain'), WANTED)
  const receipt = String(trailers['x-svc-receipt'])
  expect(headers).toMatchObject({ trailer: 'x-svc-receipt', 'x-svc-receipt': receipt })
  const claims = await verified(receipt)
  expect(claims).toMatchObject({ jti: headers['x-request-id'], model: 'svc-core' })
  expect(claims.content).toEqual({ bytes: body.byteLength, sha256: sha256(body) })
  expect(claims.account).toBe(`proj_${parseKey(key)!.accountTag}`)
  await expectLikeLedger(claims)
})

test('without the request there is none, and another value is refused', async () => {
  const { headers, trailers, body } = await post('/v1/chat/completions', chat('none'))
  expect({ ...headers, ...trailers }).not.toHaveProperty('x-svc-receipt')
  expect(headers['content-length']).toBe(String(body.byteLength))
  const { status, body: refusal } = await post('/v1/chat/completions', chat('other'), { 'x-svc-receipt': 'yes' })
  expect({ status, refusal: refusal.toString() }).toMatchObject({
    status: 400,
    refusal: expect.stringContaining('must be 1'),
  })
})

const STREAMS: { name: string; path: string; body: object }[] = [
  {
    name: 'chat with usage',
    path: '/v1/chat/completions',
    body: chat('a', { stream: true, stream_options: { include_usage: true } }),
  },
  { name: 'chat without usage', path: '/v1/chat/completions', body: chat('b', { stream: true }) },
  { name: 'responses', path: '/v1/responses', body: { model: 'svc-core', input: 'c', stream: true } },
  { name: 'messages', path: '/v1/messages', body: { ...chat('d', { stream: true }), max_tokens: 100 } },
]

describe('a stream has its receipt in the last event that bears usage', () => {
  test.each(STREAMS)('$name', async ({ path, body }) => {
    const { headers, body: stream } = await post(path, body, WANTED)
    const events = stream.toString().split(/(?<=\n\n)/)
    const carrierAt = events.findIndex((event) => event.includes('"svc_receipt":"'))
    expect(events.filter((event) => event.includes('svc_receipt'))).toHaveLength(1)
    const [, receipt] = /"svc_receipt":"([^"]+)"/.exec(events[carrierAt]!)!
    const claims = await verified(receipt!)
    const content = events
      .slice(0, carrierAt)
      .filter((event) => !/^(:|event: ping)/.test(event))
      .join('')
    expect(claims).toMatchObject({ jti: headers['x-request-id'], content: { sha256: sha256(content) } })
    expect(events.slice(carrierAt + 1).join('')).not.toMatch(/"usage"/)
    await expectLikeLedger(claims)
  })
})

describe('over a WebSocket', () => {
  /** One text for each message, to the last one of the turn. */
  async function turnOf(socket: WebSocket, fields: object): Promise<string[]> {
    const texts: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const take = (data: Buffer) => {
      texts.push(data.toString())
      if (/"type":"(?:response\.completed|response\.failed|error)"/.test(texts.at(-1)!)) resolve()
    }
    socket.on('message', take)
    socket.send(JSON.stringify({ type: 'response.create', model: 'svc-core', ...fields }))
    await promise
    socket.off('message', take)
    return texts
  }

  const receiptIn = (texts: string[]) => (JSON.parse(texts.at(-1)!) as { svc_receipt?: string }).svc_receipt
  const idIn = (texts: string[]) => (JSON.parse(texts.at(-1)!) as { response: { id: string } }).response.id

  async function open(headers: Record<string, string> = {}): Promise<WebSocket> {
    const options = { headers: { authorization: `Bearer ${key}`, ...headers } }
    const socket = new WebSocket(`${gateway.urls[0].replace(/^http/, 'ws')}/v1/responses`, options)
    await once(socket, 'open')
    stack.defer(() => socket.terminate())
    return socket
  }

  test('each turn has a receipt of its own in its last event, over the messages that its client got', async () => {
    const socket = await open(WANTED)
    const first = await turnOf(socket, { input: 'one' })
    const second = await turnOf(socket, { input: 'two', previous_response_id: idIn(first), stream_id: 'named' })
    const claims = await Promise.all([first, second].map((texts) => verified(receiptIn(texts)!)))
    for (const [at, texts] of [first, second].entries()) {
      expect(texts.filter((text) => text.includes('svc_receipt'))).toHaveLength(1)
      const lines = texts.map((text) => `${text}\n`)
      const content = lines.slice(0, -1).join('')
      expect(claims[at]!.content).toEqual({ bytes: Buffer.byteLength(content), sha256: sha256(content) })
      await expectLikeLedger(claims[at]!)

      const file = join(dataDir, `turn-${at}`)
      await writeFile(file, lines.join(''))
      const verify = ['--json', '--url', gateway.urls[1]!, 'receipts', 'verify', receiptIn(texts)!, '--content', file]
      expect(await runCtl(verify, {})).toMatchObject({ code: 0, err: '' })
      await writeFile(file, lines.join('').replace('"type":', '"type": '))
      expect(await runCtl(verify, {})).toMatchObject({ code: 2 })
    }
    expect(claims[0]!.jti).not.toBe(claims[1]!.jti)
  })

  test('without the request no turn has one, and another value refuses the upgrade', async () => {
    expect(receiptIn(await turnOf(await open(), { input: 'none' }))).toBeUndefined()
    await expect(open({ 'x-svc-receipt': 'yes' })).rejects.toThrow('400')
  })
})

test('the official SDK reads a stream with a receipt as any other, and finds it in the chunk with the usage', async () => {
  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.urls[0]}/v1`, defaultHeaders: WANTED })
  const chunks = await Array.fromAsync(
    await client.chat.completions.create({ ...chat('sdk'), stream: true, stream_options: { include_usage: true } }),
  )
  const last = chunks.at(-1) as (typeof chunks)[number] & { svc_receipt: string }
  expect(last.usage?.total_tokens).toBeGreaterThan(0)
  expect((await verified(last.svc_receipt)).jti).toMatch(/^[0-9a-f-]{36}$/)
})

test.each([false, true])(
  'a response that is given again on another edge has the same receipt (stream: %s)',
  async (stream) => {
    const once = { ...WANTED, 'idempotency-key': randomUUID() }
    const [first, again] = [
      await post('/v1/chat/completions', chat('again', { stream }), once),
      await post('/v1/chat/completions', chat('again', { stream }), once, 1),
    ]
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.body.toString()).toBe(first.body.toString())
    expect(again.trailers['x-svc-receipt']).toBe(first.trailers['x-svc-receipt'])
    if (stream) expect(first.body.toString()).toContain('"svc_receipt":"')
    else expect(first.trailers['x-svc-receipt']).toBeDefined()
  },
)

describe('ctl receipts verify', () => {
  const ctl = (...args: string[]) => runCtl(['--json', '--url', gateway.urls[1]!, 'receipts', 'verify', ...args], {})

  test('names the charge, and finds a changed digit and other content', async () => {
    const { trailers, body } = await post('/v1/chat/completions', chat('ctl'), WANTED)
    const receipt = String(trailers['x-svc-receipt'])
    const [content, other] = [join(dataDir, 'content'), join(dataDir, 'other')]
    await writeFile(content, body)
    await writeFile(other, body.subarray(1))
    const right = await ctl(receipt, '--content', content)
    expect(right).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(right.out)).toMatchObject({ verified: true, claims: { model: 'svc-core' } })

    expect(await ctl(receipt, '--content', other)).toMatchObject({
      code: 2,
      out: expect.stringContaining('content is another'),
    })
    const [header, payload, signature] = receipt.split('.')
    const claims = Buffer.from(payload!, 'base64url').toString()
    const dearer = claims.replace(/"amount":"(\d)/, (_, digit: string) => `"amount":"${(Number(digit) + 1) % 10}`)
    expect(dearer).not.toBe(claims)
    const forged = [header, Buffer.from(dearer).toString('base64url'), signature].join('.')
    expect(await ctl(forged)).toMatchObject({ code: 2, out: expect.stringContaining('something was changed') })
    expect(await ctl('no receipt')).toMatchObject({ code: 2, out: expect.stringContaining('compact JWS') })
  })

  test('compares a stream as it came', async () => {
    const { body } = await post('/v1/messages', { ...chat('stream', { stream: true }), max_tokens: 100 }, WANTED)
    const [, receipt] = /"svc_receipt":"([^"]+)"/.exec(body.toString())!
    const content = join(dataDir, 'stream')
    await writeFile(content, body)
    expect(await ctl(receipt!, '--content', content)).toMatchObject({ code: 0, err: '' })
    await writeFile(content, body.toString().replace('data: ', 'data:  '))
    expect(await ctl(receipt!, '--content', content)).toMatchObject({ code: 2 })
  })
})
