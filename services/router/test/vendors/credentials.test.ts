/**
 * Credentials that are more than a key: tokens that expire, signatures, and the libraries for them. A gateway without such a
 * backend never loads those libraries.
 */

import { backendConfig } from '@gateway/contracts/config'
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openBackend } from '../../src/clients/backend.ts'
import { openConnections } from '../../src/clients/connections.ts'
import { NO_TIMEOUTS } from '../../src/core/attempts.ts'
import { bearerTokens, type Credential, type Token } from '../../src/credentials/credential.ts'
import { openCredential } from '../../src/vendors/authentication.ts'
import { goodChat, sendJson, type Reply } from '../http-backend.ts'
import { createLogger } from '@gateway/telemetry/logger'
import { backend, closing, router } from '../open.ts'
import { poolOver } from '../router-under-test.ts'
import { startIdentityServer } from './identity-servers.ts'
import { signatureFault } from './signature-v4.ts'
import { AWS_IDENTITY } from './stand-in-credentials.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

const CALL = { method: 'POST' as const, headers: { 'content-type': 'application/json' }, body: Buffer.from('{"a":1}') }

function credentialOf(fields: object, environment: NodeJS.ProcessEnv = process.env) {
  return openCredential(backendConfig.parse({ id: 'a', url: 'http://127.0.0.1:1/v1', ...fields }), environment)
}

describe('a token', () => {
  function issuer(lifetimeMs: number) {
    let count = 0
    const sendRequest = vi.fn<() => Promise<Token>>(async () => {
      return { value: `token-${++count}-of-the-issuer`, expiresAtMs: Date.now() + lifetimeMs }
    })
    const credential = bearerTokens(sendRequest)
    const call = async () => (await credential.authorize({ ...CALL, url: new URL('http://a/') }))['authorization']
    return { sendRequest, call, credential }
  }

  test('is requested once by all calls that need it, and used until five minutes before its end', async () => {
    vi.useFakeTimers()
    const { sendRequest, call } = issuer(3_600_000)
    expect(await Promise.all([call(), call(), call()])).toEqual(Array(3).fill('Bearer token-1-of-the-issuer'))
    vi.advanceTimersByTime(3_200_000)
    expect(await call()).toBe('Bearer token-1-of-the-issuer')
    expect(sendRequest).toHaveBeenCalledTimes(1)
  })

  test('is renewed beside the calls, and no call fails by a failed renewal while the old one holds', async () => {
    vi.useFakeTimers()
    const { sendRequest, call, credential } = issuer(3_600_000)
    await call()
    vi.advanceTimersByTime(3_400_000)
    sendRequest.mockRejectedValueOnce(new Error('away'))
    expect(await call()).toBe('Bearer token-1-of-the-issuer')
    await vi.advanceTimersByTimeAsync(0)
    expect(await call()).toBe('Bearer token-1-of-the-issuer')
    await vi.advanceTimersByTimeAsync(0)
    expect(await call()).toBe('Bearer token-2-of-the-issuer')
    expect(credential.secrets()).toEqual(['token-2-of-the-issuer', 'token-1-of-the-issuer'])
  })

  test('that never comes is requested again half a minute later', async () => {
    vi.useFakeTimers()
    const { sendRequest, call } = issuer(3_600_000)
    sendRequest.mockReturnValueOnce(new Promise(() => {}))
    const waiting = call().catch((error: Error) => error.message)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(await waiting).toBe('no token within 30 s')
    expect(await call()).toBe('Bearer token-1-of-the-issuer')
  })

  test('that has expired is never used', async () => {
    vi.useFakeTimers()
    const { sendRequest, call } = issuer(3_600_000)
    await call()
    vi.advanceTimersByTime(3_600_001)
    sendRequest.mockRejectedValueOnce(new Error('away'))
    await expect(call()).rejects.toThrow('away')
    expect(await call()).toBe('Bearer token-2-of-the-issuer')
  })
})

describe('a token that the vendor refuses before its end', () => {
  const wait = (ms: number) => vi.setSystemTime(Date.now() + ms)

  /** A vendor that takes only the newest token of its issuer, and a credential of that issuer. */
  async function vendorOf(tokensTaken: string[]) {
    let count = 0
    const sendRequest = vi.fn<() => Promise<Token>>(async () => {
      return { value: `token-${++count}`, expiresAtMs: Date.now() + 3_600_000 }
    })
    const a = await backend((response, request, socket) => {
      const isAccepted = tokensTaken.some((token) => request.headers.authorization === `Bearer ${token}`)
      if (isAccepted) return goodChat(response, request, socket)
      return sendJson(response, 401, { error: { message: `no: ${request.headers.authorization}` } })
    })
    const settings = backendConfig.parse({ id: 'a', url: a.url })
    const client = openBackend(settings, {}, openConnections(settings), bearerTokens(sendRequest))
    closing({ [Symbol.asyncDispose]: () => client.close() })
    return { sendRequest, client, seen: a.seen }
  }
  const CHAT = {
    path: '/chat/completions',
    body: Buffer.from('{"a":1}'),
    accept: 'application/json',
    requestId: 'r',
    headers: {},
  }

  test('is requested again at once, and the same call is made with the new one', async () => {
    const { sendRequest, client, seen } = await vendorOf(['token-2'])
    const calls = [1, 2, 3].map(() => client.call({ ...CHAT, budgetMs: 10_000, timeoutPolicy: NO_TIMEOUTS }))
    for (const call of calls) {
      expect(await call.response).toMatchObject({ status: 200 })
      expect(JSON.parse((await call.readAll(1_000_000)).toString())).toHaveProperty('choices')
      await call.closed
    }
    expect(sendRequest).toHaveBeenCalledTimes(2)
    expect(seen.map(({ text }) => text)).toEqual(Array(seen.length).fill('{"a":1}'))
  })

  test('is requested again once a minute only, and the refusal is the response', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { sendRequest, client } = await vendorOf([])
    const call = async () => {
      const exchange = client.call({ ...CHAT, budgetMs: 10_000, timeoutPolicy: NO_TIMEOUTS })
      const { status } = await exchange.response
      const words = (await exchange.readAll(1_000)).toString()
      return `${status} ${words}`
    }
    expect(await call()).toContain('401 {"error":{"message":"no: Bearer token-2"')
    expect(await call()).toContain('Bearer token-2')
    expect(sendRequest).toHaveBeenCalledTimes(2)
    wait(60_000)
    expect(await call()).toContain('Bearer token-3')
  })

  test('and whose issuer is away fails the call, which ends', async () => {
    const { sendRequest, client } = await vendorOf([])
    sendRequest.mockResolvedValueOnce({ value: 'old', expiresAtMs: Date.now() + 3_600_000 })
    sendRequest.mockRejectedValueOnce(new Error('away'))
    const exchange = client.call({ ...CHAT, budgetMs: 10_000, timeoutPolicy: NO_TIMEOUTS })
    await expect(exchange.response).rejects.toMatchObject({ kind: 'connect', account: 'credential' })
    await exchange.closed
  })

  test('is given up with its call when the client leaves meanwhile', async () => {
    const { sendRequest, client } = await vendorOf([])
    const coming = Promise.withResolvers<Token>()
    sendRequest.mockResolvedValueOnce({ value: 'old', expiresAtMs: Date.now() + 3_600_000 })
    sendRequest.mockReturnValueOnce(coming.promise)
    const exchange = client.call({ ...CHAT, budgetMs: 10_000, timeoutPolicy: NO_TIMEOUTS })
    await expect.poll(() => sendRequest).toHaveBeenCalledTimes(2)
    exchange.abort(new Error('gone'))
    await expect(exchange.response).rejects.toThrow('gone')
    await exchange.closed
    coming.resolve({ value: 'late', expiresAtMs: Date.now() + 3_600_000 })
  })
})

test("a Google service account's key signs for a token at the token endpoint", async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const endpoint = closing(
    await startIdentityServer(({ body }) => {
      const { grant_type: grant, assertion = '' } = Object.fromEntries(new URLSearchParams(body))
      const [head = '', claims = '', signature = ''] = assertion.split('.')
      const isSigned = createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url')
      const { iss, scope } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, string>
      const isGood =
        grant === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
        isSigned &&
        iss === 'gateway@our-project.iam.gserviceaccount.com' &&
        scope === 'https://www.googleapis.com/auth/cloud-platform'
      return isGood
        ? { body: { access_token: 'ya29.of-the-service-account', expires_in: 3_599, token_type: 'Bearer' } }
        : { status: 400, body: { error: 'invalid_grant' } }
    }),
  )
  const folder = await mkdtemp(join(tmpdir(), 'service-account-'))
  const file = join(folder, 'key.json')
  const account = {
    type: 'service_account',
    project_id: 'our-project',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'gateway@our-project.iam.gserviceaccount.com',
  }
  await writeFile(file, JSON.stringify(account))
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', file)
  // The library calls Google's own endpoint; the request is sent to the local one instead.
  const send = globalThis.fetch
  vi.stubGlobal('fetch', (to: string | URL, init?: RequestInit) => {
    expect(String(to)).toBe('https://oauth2.googleapis.com/token')
    return send(endpoint.url, init)
  })
  const headers = await credentialOf({ vendor: 'vertex' })!.authorize({ ...CALL, url: new URL('http://a/') })
  expect(headers).toEqual({ authorization: 'Bearer ya29.of-the-service-account' })
  await rm(folder, { recursive: true })
})

test('Azure without a key signs in to Entra ID', async () => {
  const identity = closing(
    await startIdentityServer(({ headers, path }) => {
      const isGood = headers['x-identity-header'] === 'a-header' && path.includes('cognitiveservices.azure.com')
      const expires = Math.floor(Date.now() / 1_000) + 3_600
      return isGood
        ? { body: { access_token: 'a-token-of-entra', expires_on: String(expires), token_type: 'Bearer' } }
        : { status: 403, body: {} }
    }),
  )
  vi.stubEnv('IDENTITY_ENDPOINT', `${identity.url}/msi/token`)
  vi.stubEnv('IDENTITY_HEADER', 'a-header')
  const a = await backend((response, request, socket) => {
    if (request.headers.authorization !== 'Bearer a-token-of-entra' || request.headers['api-key'] !== undefined)
      return sendJson(response, 401, { error: { code: '401', message: 'Access denied' } })
    return goodChat(response, request, socket)
  })
  const under = await router(poolOver([a.url], { backend: { vendor: 'azure', timeouts: {} } }))
  for (let i = 0; i < 2; i++) expect((await under.sendRequest()).failure).toBeNull()
  expect(identity.requested).toHaveLength(1)
})

describe('AWS', () => {
  const url = new URL('http://127.0.0.1:1/openai/v1/chat/completions?a=b%20c&z=1')
  const scope = { region: 'eu-west-3', service: 'bedrock' }

  function inEnvironment(): void {
    vi.stubEnv('AWS_ACCESS_KEY_ID', AWS_IDENTITY.accessKeyId)
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', AWS_IDENTITY.secretAccessKey)
    vi.stubEnv('AWS_SESSION_TOKEN', AWS_IDENTITY.sessionToken)
    vi.stubEnv('AWS_REGION', scope.region)
  }

  test('a signature holds for its request, and for no other', async () => {
    inEnvironment()
    const credential = credentialOf({ vendor: 'bedrock' })!
    const own = await credential.authorize({ ...CALL, url })
    const headers = { ...own, host: url.host, ...CALL.headers }
    const signed = { method: 'POST', path: url.pathname + url.search, headers, body: CALL.body.toString() }
    expect(signatureFault(signed, AWS_IDENTITY, scope)).toBeNull()
    const others = [
      { ...signed, body: '{"a":2}' },
      { ...signed, path: `${url.pathname}?a=c` },
      { ...signed, method: 'GET' },
      { ...signed, headers: { ...headers, host: 'elsewhere' } },
    ]
    for (const other of others) expect(signatureFault(other, AWS_IDENTITY, scope)).toContain('does not match')
    expect(credential.secrets()).toEqual(Object.values(AWS_IDENTITY))
  })

  test('credentials that AWS refuses before their end are requested again', async () => {
    let issued = 0
    const container = closing(
      await startIdentityServer(() => ({
        body: {
          AccessKeyId: `ASIA-${++issued}`,
          SecretAccessKey: 'secret',
          Token: 'token',
          Expiration: new Date(Date.now() + 3_600_000).toISOString(),
        },
      })),
    )
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', container.url)
    vi.stubEnv('AWS_REGION', scope.region)
    // docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html, November 2026.
    const a = await backend((response, request, socket) =>
      request.headers.authorization?.includes('ASIA-1/')
        ? sendJson(response, 403, { message: 'The security token included in the request is expired' })
        : goodChat(response, request, socket),
    )
    const under = await router(poolOver([a.url], { backend: { vendor: 'bedrock', timeouts: {} } }), process.env)
    expect((await under.sendRequest()).failure).toBeNull()
    expect(issued).toBe(2)
  })

  test('a Bedrock key is a bearer, and nothing is signed', async () => {
    const a = await backend(goodChat)
    const under = await router(poolOver([a.url], { backend: { vendor: 'bedrock', apiKey: 'ABSK-of-bedrock' } }))
    expect((await under.sendRequest()).failure).toBeNull()
    expect(a.seen[0]!.headers.authorization).toBe('Bearer ABSK-of-bedrock')
    expect(a.seen[0]!.headers['x-amz-date']).toBeUndefined()
  })

  test('the region is that of the address; without one the config is refused by its field', () => {
    const at = (host: string) => credentialOf({ vendor: 'bedrock', url: `https://${host}/openai/v1` }, {})
    expect(at('bedrock-runtime.us-gov-west-1.amazonaws.com')).not.toBeNull()
    expect(at('bedrock-runtime.cn-north-1.amazonaws.com.cn')).not.toBeNull()
    expect(() => at('bedrock.internal')).toThrow(/url: names no AWS region.*AWS_REGION/)
  })
})

test("Google's token is requested again when the vendor refuses it", async () => {
  let issued = 0
  const metadata = closing(
    await startIdentityServer(() => ({
      headers: { 'metadata-flavor': 'Google' },
      body: { access_token: `ya29.number-${++issued}`, expires_in: 3_599, token_type: 'Bearer' },
    })),
  )
  vi.stubEnv('GCE_METADATA_HOST', metadata.url.slice('http://'.length))
  vi.stubEnv('METADATA_SERVER_DETECTION', 'assume-present')
  const a = await backend((response, request, socket) =>
    request.headers.authorization === 'Bearer ya29.number-1'
      ? sendJson(response, 401, { error: { code: 401, status: 'UNAUTHENTICATED', message: 'expired' } })
      : goodChat(response, request, socket),
  )
  const under = await router(poolOver([a.url], { backend: { vendor: 'vertex', timeouts: {} } }))
  expect((await under.sendRequest()).failure).toBeNull()
  expect(issued).toBe(2)
})

describe('an operator reads of a credential that does not work', () => {
  interface Line {
    level: string
    msg: string
    backend: string
  }

  async function withLog(reply: Reply, settings: object) {
    const lines: Line[] = []
    const output = { write: (text: string) => void lines.push(JSON.parse(text) as Line) }
    const logger = createLogger({ service: 'router', level: 'info', output })
    const a = await backend(reply)
    const under = await router(poolOver([a.url], { backend: settings }), {}, { logger })
    return {
      under,
      reported: () => lines.map(({ level, msg }) => `${level}: ${msg}`),
      text: () => JSON.stringify(lines),
    }
  }
  const KEY = 'a-key-that-no-line-may-hold'

  test.each([
    [404, {}, "warn: a backend does not have the model of a target: mend the target's model, or the backend's url"],
    [401, { apiKey: KEY }, "warn: a backend refuses the router's credential: replace its apiKey"],
    [403, {}, "warn: a backend refuses the router's credential: set its apiKey"],
    [402, { apiKey: KEY }, 'warn: a backend serves nothing until its account is paid, or its limit is raised'],
  ])('%i: one warning with the next step, and one line when it works again', async (status, settings, warning) => {
    let isGood = false
    const { under, reported, text } = await withLog((response, request, socket) => {
      if (isGood) return goodChat(response, request, socket)
      const { authorization = 'nothing' } = request.headers
      return sendJson(response, status, { error: { message: `Incorrect API key provided: ${authorization}` } })
    }, settings)
    for (let i = 0; i < 3; i++) await under.sendRequest()
    expect(reported()).toEqual([warning])
    isGood = true
    for (let i = 0; i < 2; i++) await under.sendRequest()
    expect(reported()).toEqual([warning, 'info: a target serves again'])
    expect(text()).not.toContain(KEY)
  })

  test('one that is not to be had', async () => {
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '/nowhere/key.json')
    const { under, reported, text } = await withLog(goodChat, { vendor: 'vertex', timeouts: {} })
    for (let i = 0; i < 2; i++) await under.sendRequest()
    expect(reported()).toEqual([
      expect.stringContaining('warn: the router finds no credential for a backend: set GOOGLE_APPLICATION_CREDENTIALS'),
    ])
    expect(text()).toContain('/nowhere/key.json')
  })

  test('nothing of faults that are not of the credential', async () => {
    const { under, reported } = await withLog((response) => sendJson(response, 500, { error: 'no' }), {})
    await under.sendRequest()
    expect(reported()).toEqual([])
  })
})

test('a credential that is not to be had is the backend out, and another one serves', async () => {
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '/nowhere/key.json')
  const [a, b] = [await backend(goodChat), await backend(goodChat)]
  const under = await router(poolOver([a.url, b.url], { backends: [{ vendor: 'vertex', timeouts: {} }, {}] }))
  const { end } = await under.sendRequest()
  expect(end!.attempts.map(({ outcome }) => outcome)).toEqual(['connect', 'served'])
  expect(a.seen).toEqual([])
})

describe('a call that waits for its credential', () => {
  const config = (url: string) => backendConfig.parse({ id: 'a', url, timeouts: { connectMs: 50 } })
  const CHAT = {
    path: '/chat/completions',
    headers: {},
    body: Buffer.from('{}'),
    accept: 'application/json',
    requestId: 'r',
  }

  test('gives its place back when its time is over, though the credential never comes', async () => {
    const never: Credential = { authorize: () => new Promise(() => {}), renew: () => false, secrets: () => [] }
    const settings = config('http://127.0.0.1:1/v1')
    const client = openBackend(settings, {}, openConnections(settings), never)
    const exchange = client.call({ ...CHAT, budgetMs: 10_000, timeoutPolicy: NO_TIMEOUTS })
    await expect(exchange.response).rejects.toMatchObject({ kind: 'connect_timeout' })
    await exchange.closed
    await client.close()
  })

  test('is still made when a new config closes its backend', async () => {
    const a = await backend(goodChat)
    const coming = Promise.withResolvers<Record<string, string>>()
    const settings = { ...config(a.url), timeouts: { connectMs: 10_000, firstByteMs: 10_000, idleMs: 10_000 } }
    const credential: Credential = { authorize: () => coming.promise, renew: () => false, secrets: () => [] }
    const client = openBackend(settings, {}, openConnections(settings), credential)
    const exchange = client.call({ ...CHAT, budgetMs: 10_000, timeoutPolicy: NO_TIMEOUTS })
    const closed = client.close()
    coming.resolve({ authorization: 'Bearer late' })
    expect(await exchange.response).toMatchObject({ status: 200 })
    await exchange.readAll(1_000_000)
    await closed
  })
})

describe('the libraries of vendors', () => {
  const LIBRARIES = ['google-auth-library', '@azure/identity', '@aws-sdk/credential-providers', '@smithy/signature-v4']

  /** The libraries that a process has loaded once it has opened these backends and fetched their credentials. */
  async function loadedBy(backends: object[]): Promise<string[]> {
    const script = `
      import { registerHooks } from 'node:module'
      const loaded = new Set()
      registerHooks({ resolve(name, context, next) { loaded.add(name); return next(name, context) } })
      const { backendConfig } = await import('@gateway/contracts/config')
      const { openBackendRegistry } = await import('./src/backend-registry.ts')
      await import('./src/start.ts')
      const backends = ${JSON.stringify(backends)}.map((one) => backendConfig.parse(one))
      const registry = openBackendRegistry({ AWS_REGION: 'us-east-1' })
      registry.apply({ revision: 'r', backends, pools: [], models: [], plans: [] })
      for (const { client } of registry.backends()) await client.probe()
      await registry.close()
      console.log(JSON.stringify([...loaded]))
      process.exit()`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: new URL('../..', import.meta.url),
      env: {
        PATH: process.env['PATH'],
        AWS_ACCESS_KEY_ID: 'a',
        AWS_SECRET_ACCESS_KEY: 'b',
        IDENTITY_ENDPOINT: 'http://127.0.0.1:1/',
        IDENTITY_HEADER: 'a',
        GCE_METADATA_HOST: '127.0.0.1:1',
        METADATA_SERVER_DETECTION: 'none',
      },
    })
    const names = JSON.parse(stdout) as string[]
    return LIBRARIES.filter((library) => names.includes(library))
  }

  const at = (vendor: string | undefined, apiKey?: string) => ({
    id: `b-${vendor?.replace('.', '-') ?? 'plain'}`,
    url: 'http://127.0.0.1:1/v1',
    ...(vendor ? { vendor } : {}),
    ...(apiKey ? { apiKey } : {}),
  })

  test('are not loaded by a gateway whose backends have keys or none', async () => {
    const withKeys = ['openai', 'azure', 'anthropic', 'gemini', 'vertex', 'bedrock'].map((vendor) => at(vendor, 'key'))
    expect(await loadedBy([at(undefined), at('ollama'), ...withKeys])).toEqual([])
  })

  test.each([
    ['vertex', ['google-auth-library']],
    ['azure', ['@azure/identity']],
    ['bedrock', ['@aws-sdk/credential-providers', '@smithy/signature-v4']],
  ])('of %s are loaded where it has no key', async (vendor, libraries) => {
    expect(await loadedBy([at(vendor)])).toEqual(libraries)
  })
})
