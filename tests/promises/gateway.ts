/**
 * The gateway that promises are tested on, whichever way it runs, and how clients reach it.
 */

import { randomUUID } from 'node:crypto'
import { parseKey } from '@gateway/contracts/api-key'
import { createDefaultConfig } from '@gateway/contracts/default-config'
import type { AccountReply } from '@gateway/contracts/accounts-api'
import type { Written } from '@gateway/contracts/bus-roles'
import { type Backend, startBackend } from '@gateway/stand-ins/backend'
import { signIn } from '@gateway/stand-ins/sign-in'
import OpenAI from 'openai'
import { findGateway } from '../../packages/ctl/src/gateway.ts'

export interface Address {
  /** Every edge's. */
  readonly urls: readonly [string, ...string[]]
  readonly issuer: string
}

export interface Gateway extends Address {
  readonly backends: Backends
}

export interface OperatedGateway extends Gateway {
  /** Where its operator finds it. */
  readonly dataDir: string
}

export interface Backends {
  /** Serve the service's own models; the first is preferred. */
  steadyA: Backend
  steadyB: Backend
  /** Plays both backends of every lane that a test may break. */
  frail: Backend
  /** Refuses connections; the preferred backend of `GONE_MODEL`. */
  gone: Backend
}

/** A model of its own with two backends that nobody has seen fail yet; the first is preferred. */
export interface Lane {
  model: string
  first: string
  second: string
}

const LANES = 40
const laneNames = Array.from({ length: LANES }, (_, index) => `frail-${index + 1}`)
const laneOf = (model: string): Lane => ({ model, first: `${model}-a`, second: `${model}-b` })
export const GONE_MODEL = 'first-backend-gone'

const lanesTaken = new WeakMap<Gateway, number>()
/** A backend that failed is avoided for a while, so each test that breaks one takes a lane that is new. */
export function newLane(gateway: Gateway): Lane {
  const taken = lanesTaken.get(gateway) ?? 0
  lanesTaken.set(gateway, taken + 1)
  return laneOf(laneNames[taken]!)
}

export const GUEST_LIMIT_TOKENS = 5_000
export const GUEST_REQUESTS_PER_DAY = 6
export const DEVELOPER_REQUESTS_PER_MINUTE = 30
/** Plans whose one limit a test can reach; accounts get them from their operator. */
export const NARROW_PLANS = {
  threeAMinute: { slug: 'three-a-minute', limit: 1e9, rpm: 3, tpm: 1e9, paid: true },
  tokenAMillisecond: { slug: 'token-a-millisecond', limit: 1e9, rpm: 100_000, tpm: 60_000, paid: true },
  hundredTokensASecond: { slug: 'hundred-tokens-a-second', limit: 1e9, rpm: 100_000, tpm: 6_000, paid: true },
  tenResponses: { slug: 'ten-answers', limit: 15_500, rpm: 100_000, tpm: 1e9, paid: true },
  thousandTokens: { slug: 'thousand-tokens', limit: 1_000, rpm: 100_000, tpm: 1e9, paid: true },
  /** Of US dollars, which is 3 for a million tokens: a thousand tokens. */
  threeThousandths: {
    slug: 'three-thousandths',
    unit: 'usd',
    limit: 0.003,
    rpm: 100_000,
    tpm: 1e9,
    paid: true,
    payAsYouGo: true,
  },
} as const
const BACKEND_TIMEOUT_MS = 2_000

/** The default models, and those to break, on our backends, under plans whose limits a test can reach. */
export function configFor(
  { steadyA, steadyB, frail, gone }: Backends,
  { requestsPerMinute = DEVELOPER_REQUESTS_PER_MINUTE } = {},
): object {
  const defaults = createDefaultConfig()
  const lanes = laneNames.map(laneOf)
  return {
    backends: [
      backend('steady-a', steadyA),
      backend('steady-b', steadyB),
      backend('gone', gone),
      ...lanes.flatMap(({ first, second }) => [backend(first, frail), backend(second, frail)]),
    ],
    pools: [
      ...defaults.pools.map(({ id, affinity, targets }) =>
        pool(id, targets[0]!.model, ['steady-a', 'steady-b'], affinity),
      ),
      pool(GONE_MODEL, 'sim-survivor', ['gone', 'steady-b']),
      ...lanes.map(({ model, first, second }) => pool(model, 'sim-frail', [first, second])),
    ],
    models: [
      ...defaults.models,
      ...[GONE_MODEL, ...laneNames].map((id) => ({
        id,
        type: 'chat',
        pool: id,
        multiplier: 1,
        maxOutputTokens: 8_192,
      })),
    ],
    plans: [
      {
        slug: 'guest-device',
        limit: GUEST_LIMIT_TOKENS,
        rpm: 100,
        tpm: 100_000,
        perDay: GUEST_REQUESTS_PER_DAY,
        guest: true,
      },
      {
        slug: 'team',
        limit: 1_000_000_000,
        rpm: requestsPerMinute,
        tpm: 1_000_000_000,
        paid: true,
        default: true,
      },
      ...Object.values(NARROW_PLANS),
    ],
  }
}

function backend(id: string, { url }: Backend): object {
  return {
    id,
    url,
    headers: { 'x-simulated-backend': id },
    timeouts: { connectMs: 1_000, firstByteMs: BACKEND_TIMEOUT_MS, idleMs: BACKEND_TIMEOUT_MS },
    capabilities: ['chat', 'tools', 'vision', 'embeddings', 'images'],
  }
}

function pool(id: string, model: string, backends: string[], affinity = 'none'): object {
  return { id, affinity, targets: backends.map((backend, index) => ({ backend, model, priority: index + 1 })) }
}

export async function startBackends(stack: AsyncDisposableStack): Promise<Backends> {
  const start = async () => stack.use(await startBackend())
  const backends = { steadyA: await start(), steadyB: await start(), frail: await start(), gone: await start() }
  await backends.gone.refuse()
  return backends
}

export interface Caller {
  key: string
  client: OpenAI
  /** The same caller at another edge. */
  at(url: string): OpenAI
}

/** A key of its own for a device that never was here before; each comes from another network. */
export async function newGuest(gateway: Address): Promise<Caller> {
  const response = await mintGuest(gateway, randomUUID())
  const { key } = (await response.json()) as { key: string }
  return callerWith(gateway, key)
}

let networks = 0
export function mintGuest(gateway: Address, deviceId: unknown, url = gateway.urls[0]): Promise<Response> {
  networks++
  return fetch(`${url}/v1/keys/guest`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': `198.18.${Math.floor(networks / 250)}.${1 + (networks % 250)}`,
    },
    body: JSON.stringify({ device_id: deviceId }),
  })
}

/** Someone who signed in for the first time. */
export async function newDeveloper(gateway: Address): Promise<Caller & { token: string }> {
  const token = await signInAs(gateway, `dev-${randomUUID()}`)
  const { status, body } = await manageKeys(gateway, token, 'POST')
  if (status !== 200) throw new Error(`the mint returned ${status}: ${JSON.stringify(body)}`)
  return { ...callerWith(gateway, String(body['key'])), token }
}

export type AccountChange = 'keysSetPlan' | 'keysSetOverage' | 'keysTopUp'

/** Sends a request as `npm run ctl` does. */
export async function operate<Name extends AccountChange>(
  gateway: OperatedGateway,
  change: Name,
  question: Written<Name, 'request'>,
): Promise<void> {
  await using running = await findGateway({ DATA_DIR: gateway.dataDir }, {})
  const reply: AccountReply = await running.request(change, question)
  if (reply.kind !== 'account') throw new Error(`${change}: ${JSON.stringify(reply)}`)
}

/** A developer's account that the operator has put on the plan. */
export async function newDeveloperOn(gateway: OperatedGateway, plan: string): Promise<Caller & { account: string }> {
  const developer = await newDeveloper(gateway)
  const account = parseKey(developer.key)!.accountTag
  await operate(gateway, 'keysSetPlan', { subject: account, plan })
  return { ...developer, account }
}

export function signInAs(gateway: Address, name: string): Promise<string> {
  return signIn(gateway.issuer, { name, redirectUri: `${gateway.urls[0]}/console` })
}

export interface Reply {
  status: number
  headers: Headers
  body: Record<string, unknown>
}

/** `/v1/keys/developer`, or below it. */
export async function manageKeys(
  gateway: Address,
  token: string,
  method: 'GET' | 'POST',
  path: '' | '/rotate' | '/revoke' | `?after=${string}` = '',
  body: object = {},
  url: string = gateway.urls[0],
): Promise<Reply> {
  const response = await fetch(`${url}/v1/keys/developer${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

export function callerWith(gateway: Address, key: string): Caller {
  const at = (url: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  return { key, client: at(gateway.urls[0]), at }
}

export interface RequestParts {
  key?: string
  /** Sent as JSON; a string as it is. */
  body?: unknown
  method?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** A request as any HTTP client sends it. */
export async function send(url: string, path: string, options: RequestParts = {}): Promise<Reply> {
  const response = await sendRaw(url, path, options)
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  }
}

export function sendRaw(
  url: string,
  path: string,
  { key, body, method, headers, signal }: RequestParts = {},
): Promise<Response> {
  return fetch(url + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  })
}

export function userMessages(content: string): OpenAI.ChatCompletionMessageParam[] {
  return [{ role: 'user', content }]
}

export interface QuotaRecord {
  object: string
  planSlug: string
  used: number
  limit: number
  remaining: number
  resetAt: string
  unit: string
  keyPrefix: string
  source: string
}

export async function quotaOf({ key }: Caller, url: string): Promise<QuotaRecord> {
  const { status, body } = await send(url, '/billing/quota', { key })
  if (status !== 200) throw new Error(`quota: ${status} ${JSON.stringify(body)}`)
  return body as unknown as QuotaRecord
}
