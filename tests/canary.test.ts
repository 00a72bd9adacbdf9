/**
 * Nothing may write down keys, sign-in tokens, prompts, responses, device ids, the backends' keys or the master secret.
 * Distinctive ones go through a whole gateway that logs all it can, in good order and in every kind of trouble.
 * Afterwards the test searches all that the gateway left behind: logs, columns of the database, keys and values of
 * Redis, files, metrics and spans. No place may hold one of them.
 */

import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseKey } from '@gateway/contracts/api-key'
import { createDefaultConfig } from '@gateway/contracts/default-config'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { signIn } from '@gateway/stand-ins/sign-in'
import { readDatabase, readFolder, readRedis, type Leftover } from '@gateway/testing/leftovers'
import { type OtlpReceiver, startOtlpReceiver } from '@gateway/testing/otlp-receiver'

const canary = (name: string) => `canary${name}${randomBytes(12).toString('hex')}`
const MASTER_SECRET = `${canary('Master')}Uvw`
const BACKEND_KEY = canary('BackendKey')
const PROMPT = canary('Prompt')
const REPLY = canary('Answer')
const DEVICE = canary('Device')
const IDEMPOTENCY_KEY = canary('Idempotency')

/** Each secret by its kind: a failure names the kind and not the secret. */
const secrets = new Map<string, string>([
  ['the master secret', MASTER_SECRET],
  ["a backend's key", BACKEND_KEY],
  ['a prompt', PROMPT],
  ['a response', REPLY],
  ['a device id', DEVICE],
  ['an idempotency key', IDEMPOTENCY_KEY],
])

/** Of every developer key: no secrets, and everywhere. */
const accountTags = new Set<string>()

let cluster: Cluster
let collector: OtlpReceiver
let folder: string

beforeAll(async () => {
  collector = await startOtlpReceiver()
  folder = await mkdtemp(join(tmpdir(), 'gateway-canary-'))
  const config = join(folder, 'gateway.yaml')
  const backends = createDefaultConfig().backends.map((backend) => ({ ...backend, apiKey: '${CANARY_BACKEND_KEY}' }))
  await writeFile(config, JSON.stringify({ backends }))
  const environment = {
    GATEWAY_CONFIG: config,
    LOG_LEVEL: 'trace',
    CANARY_BACKEND_KEY: BACKEND_KEY,
    KEYS_MASTER_SECRET: MASTER_SECRET,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
  }
  cluster = await startCluster({ edges: 1, routers: 1, dataDir: folder, ownServers: true, environment })
})

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
  await collector?.[Symbol.asyncDispose]()
  if (folder) await rm(folder, { recursive: true, force: true })
})

test('nothing that a gateway leaves behind holds a key, a token, a prompt, a device id or the master secret', async () => {
  const statuses = new Set<number>()
  const see = (seen: number[]) => seen.forEach((status) => statuses.add(status))
  see(await useKeys())
  for (const fault of FAULTS) see(await withFault(fault))
  for (const server of ['redis', 'postgres', 'nats'] as const) see(await without(server))
  // The exercise is worth something only if all of this happened.
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 404, 413, 503]))

  const { postgres, redis } = cluster.servers
  const found = [await search(readDatabase(postgres.url)), await search(readRedis(redis.url))]
  // Redis keeps responses sealed, and the search covered them, too.
  expect(found[1]!.harmless).toContainEqual(expect.stringMatching(/^the Redis key idem:.*:key:/))
  const metrics = await search(readMetrics())
  await cluster[Symbol.asyncDispose]()
  found.push(await search(readFolder(folder)))
  for (const { secret, harmless } of found) {
    expect(secret).toEqual([])
    // Some values are no secrets and have to be there: they show that the search finds things.
    expect(harmless).not.toEqual([])
  }
  // Metrics and spans leave the gateway, so they name no account either.
  expect([metrics, await search(readSpans())]).toEqual([NOTHING_FOUND, NOTHING_FOUND])
  await expectLinesAboutRequests()
})

const NOTHING_FOUND = { secret: [], harmless: [] }

async function* readMetrics(): AsyncGenerator<Leftover> {
  for (const { plan } of cluster.processes.filter(({ plan }) => plan.script.startsWith('services/'))) {
    const response = await fetch(`${plan.healthUrl}/metrics`)
    expect(response.status).toBe(200)
    yield { place: `the metrics of ${plan.name}`, content: Buffer.from(await response.arrayBuffer()) }
  }
}

async function* readSpans(): AsyncGenerator<Leftover> {
  expect(collector.spans.length).toBeGreaterThan(100)
  for (const content of collector.bodies) yield { place: 'a span', content }
}

/** Every line of a log is JSON; those about a request name it, and its trace. */
async function expectLinesAboutRequests(): Promise<void> {
  for (const [name, message] of [
    ['edge-1', 'a request failed'],
    ['router-1', 'an attempt failed'],
  ] as const) {
    const text = await readFile(join(folder, 'logs', `${name}.log`), 'utf8')
    const lines = text.trim().split('\n')
    const about = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === message)
    expect(about.length).toBeGreaterThan(0)
    for (const { requestId, traceId } of about) {
      expect({ requestId, traceId }).toEqual({
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      })
    }
  }
}

// The requests ------------------------------------------------------------------------------------------------------

const FAULTS: object[] = [
  {},
  { status: 500, body: JSON.stringify({ error: { message: `cannot serve ${PROMPT}: ${REPLY}` } }) },
  { status: 400, body: JSON.stringify({ error: { message: `what is ${PROMPT}?`, type: 'invalid_request_error' } }) },
  { status: 429, retryAfter: 1, body: `slow down with ${PROMPT}` },
  { status: 401, body: `wrong key ${BACKEND_KEY}` },
  { html: true, body: `<p>${PROMPT}</p>` },
  { truncatedJson: true },
  { disconnect: true },
  { garbageAfterChunks: 0 },
  { garbageAfterChunks: 2 },
  { errorAfterChunks: 2 },
  { dieAfterChunks: 2, reset: true },
  { noUsage: true },
]

/** The life of keys, and everything that callers get wrong. */
async function useKeys(): Promise<number[]> {
  const token = await newToken()
  const first = await mint(token)
  const rotated = await manage(token, '/rotate', { key: first })
  const key = remember('a developer key', String(rotated.body['key']))
  const guest = await send('/v1/keys/guest', null, { device_id: DEVICE })
  const guestKey = remember('a guest key', String(guest.body['key']))
  const forged = `${token.slice(0, -8)}AAAAAAAA`
  const replies = await Promise.all([
    manage(token, '', undefined, 'GET'),
    manage(token, '/revoke', { key: first }),
    manage(token, '/rotate', { key: guestKey }),
    manage(token, '/rotate', { key: `${key}x` }),
    manage(key, '/rotate', { key }),
    manage(forged, '', {}),
    ...[first, `${key}x`, `svc_${PROMPT}`, token, forged, '', `${token}.${token}`].map((credential) =>
      send('/v1/chat/completions', credential, chat({})),
    ),
    send('/v1/keys/guest', null, { device_id: DEVICE.repeat(20) }),
    send('/v1/keys/guest', null, { device_id: [DEVICE] }),
    send('/v1/embeddings', guestKey, { model: 'svc-embed', input: PROMPT }),
    send('/v1/embeddings', key, { model: 'svc-embed', input: { wrong: PROMPT } }),
    send('/v1/images/generations', key, { model: 'svc-image', prompt: PROMPT }),
    send('/v1/chat/completions', key, { model: 'svc-fast', messages: PROMPT }),
    send('/v1/chat/completions', key, { model: PROMPT, messages: [{ role: 'user', content: PROMPT }] }),
    send('/v1/chat/completions', key, chat({ temperature: PROMPT })),
    send('/v1/chat/completions', key, chat({ padding: PROMPT.repeat(800_000) })),
    sendRaw('/v1/chat/completions', key, `{"model":"svc-fast","messages":[{"role":"user","content":"${PROMPT}`),
    send(`/v1/models/${PROMPT}`, key, undefined, 'GET'),
    send(`/v1/models?key=${key}&prompt=${PROMPT}`, null, undefined, 'GET'),
    send(`/${key}/${PROMPT}`, key, undefined, 'GET'),
    send('/billing/quota', key, undefined, 'GET'),
    send('/v1/quote', key, chat({})),
  ])
  replies.push(await manage(token, '/revoke', { key }))
  return replies.map(({ status }) => status)
}

/** Plain, streamed, repeated and abandoned requests while the backends behave like this. */
async function withFault(fault: object): Promise<number[]> {
  await control('DELETE', 'faults')
  await control('POST', 'faults', { text: `${REPLY} ${REPLY} ${REPLY}`, ...fault })
  const key = await mint(await newToken())
  const replies = await Promise.all([
    send('/v1/chat/completions', key, chat({})),
    send('/v1/chat/completions', key, chat({ stream: true })),
    send('/v1/chat/completions', key, chat({}), 'POST', { 'idempotency-key': IDEMPOTENCY_KEY }),
    send('/v1/chat/completions', key, chat({}), 'POST', { 'idempotency-key': IDEMPOTENCY_KEY }),
    send('/v1/chat/completions', key, chat({ stream: true }), 'POST', { 'idempotency-key': `${IDEMPOTENCY_KEY}s` }),
    abandon(key),
  ])
  return replies.map(({ status }) => status)
}

/** Everything again while a server is away, and until it is back. */
async function without(name: 'redis' | 'postgres' | 'nats'): Promise<number[]> {
  await control('DELETE', 'faults')
  const token = await newToken()
  const key = await mint(token)
  await cluster.servers[name].kill('SIGKILL')
  const replies = await Promise.all([
    send('/v1/chat/completions', key, chat({})),
    send('/v1/chat/completions', token, chat({ stream: true })),
    send('/v1/keys/guest', null, { device_id: `${DEVICE}-${name}` }),
    manage(token, '', {}),
    manage(token, '/rotate', { key }),
  ])
  const { body } = replies[4]
  if (typeof body['key'] === 'string') remember('a developer key', body['key'])
  for (let attempt = 0; attempt < 100; attempt++) {
    const { status, body: minted } = await manage(token, '', {})
    if (status === 200) {
      remember('a developer key', String(minted['key']))
      const reply = await send('/v1/chat/completions', String(minted['key']), chat({}))
      if (reply.status === 200) return replies.map((one) => one.status)
    }
    await sleep(200)
  }
  throw new Error(`the gateway did not recover from the loss of ${name}`)
}

let people = 0
async function newToken(): Promise<string> {
  const redirectUri = `${cluster.edges[0]}/console`
  return remember('a sign-in token', await signIn(cluster.issuer, { name: `person-${++people}`, redirectUri }))
}

async function mint(token: string): Promise<string> {
  const { status, body } = await manage(token, '', {})
  expect(status).toBe(200)
  return remember('a developer key', String(body['key']))
}

/** A key or token in whole, and the part of it that alone makes it usable. */
function remember(kind: string, secret: string): string {
  expect(secret.length).toBeGreaterThan(40)
  secrets.set(`${kind} (${secrets.size})`, secret.slice(-24))
  const parsed = parseKey(secret)
  if (parsed) accountTags.add(parsed.accountTag)
  return secret
}

function chat(fields: object): object {
  return { model: 'svc-fast', messages: [{ role: 'user', content: `${PROMPT}, please` }], ...fields }
}

interface Seen {
  status: number
  body: Record<string, unknown>
}

const manage = (token: string, path: string, body?: object, method = 'POST') =>
  send(`/v1/keys/developer${path}`, token, body, method)

async function send(
  path: string,
  credential: string | null,
  body?: object,
  method = 'POST',
  headers: Record<string, string> = {},
): Promise<Seen> {
  return sendRaw(path, credential, body && JSON.stringify(body), method, headers)
}

async function sendRaw(
  path: string,
  credential: string | null,
  body?: string,
  method = 'POST',
  headers: Record<string, string> = {},
): Promise<Seen> {
  const authorization = credential === null ? {} : { authorization: `Bearer ${credential}` }
  const response = await fetch(`${cluster.edges[0]}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...authorization, ...headers },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(30_000),
  })
  const text = await response.text().catch(() => '')
  const isJson = response.headers.get('content-type')?.includes('json')
  return { status: response.status, body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {} }
}

async function abandon(key: string): Promise<Seen> {
  const response = await fetch(`${cluster.edges[0]}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(chat({ stream: true })),
  })
  await response.body?.cancel()
  return { status: response.status, body: {} }
}

async function control(method: string, path: string, body?: object): Promise<void> {
  const url = new URL(`/_control/${path}`, cluster.backendUrl)
  const response = await fetch(url, { method, ...(body ? { body: JSON.stringify(body) } : {}) })
  expect(response.status).toBe(200)
}

// The search --------------------------------------------------------------------------------------------------------

/** Returns the secret as it is, in hexadecimal, and in base64 at each offset that it may have in the encoded text. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret)
  const encoded = [0, 1, 2].flatMap((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes])
    // The first and the last four letters depend on the neighbours.
    return [shifted.toString('base64').slice(4, -4), shifted.toString('base64url').slice(4, -4)]
  })
  return [secret, bytes.toString('hex'), ...encoded].map((form) => Buffer.from(form))
}

async function search(leftovers: AsyncIterable<Leftover>): Promise<{ secret: string[]; harmless: string[] }> {
  const forms = [...secrets].map(([kind, secret]) => ({ kind, forms: formsOf(secret) }))
  const found = { secret: [] as string[], harmless: [] as string[] }
  for await (const { place, content } of leftovers) {
    for (const { kind, forms: looks } of forms) {
      if (looks.some((look) => content.includes(look))) found.secret.push(`${kind} in ${place}`)
    }
    if ([...accountTags].some((tag) => content.includes(tag))) found.harmless.push(place)
  }
  return found
}
