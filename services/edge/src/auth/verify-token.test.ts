import { createHmac, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { exportJWK, SignJWT, type JWTPayload } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startIdentityProvider } from '@gateway/stand-ins/identity-provider'
import { signIn } from '@gateway/stand-ins/sign-in'
import { createLogger } from '@gateway/telemetry/logger'
import { createVerifyToken, verifyOwner } from './verify-token.ts'

const logger = createLogger({ service: 'test', level: 'silent' })
const audience = 'http://gateway.test'
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' })

test('a person who signed in at a real provider is known by issuer and subject', async () => {
  const redirectUri = 'http://127.0.0.1:9/callback'
  await using provider = await startIdentityProvider({ audience, consoleUrl: redirectUri })
  const token = await signIn(provider.issuer, { name: 'ada', redirectUri })
  const verify = createVerifyToken({ issuer: provider.issuer, audience, logger })
  expect(await verify(token)).toMatchObject({ issuer: provider.issuer, subject: 'ada', claims: { sub: 'ada' } })
  expect(await verifyOwner(verify)(token)).toEqual({ issuer: provider.issuer, subject: 'ada' })
  const elsewhere = createVerifyToken({ issuer: provider.issuer, audience: 'http://other.test', logger })
  await expect(elsewhere(token)).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
})

/** An issuer whose tokens a test can forge in every way, which no honest provider would write. */
async function openIssuer() {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    response.setHeader('content-type', 'application/json')
    if (request.url === '/jwks') {
      void exportJWK(rsa.publicKey).then((jwk) =>
        response.end(JSON.stringify({ keys: [{ ...jwk, kid: 'one', use: 'sig' }] })),
      )
    } else response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/jwks` }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

describe('a forged or misplaced token', () => {
  let issuer: Awaited<ReturnType<typeof openIssuer>>
  beforeEach(async () => void (issuer = await openIssuer()))
  afterEach(() => issuer[Symbol.asyncDispose]())

  const nowS = () => Math.floor(Date.now() / 1000)
  const good = (): JWTPayload => ({ iss: issuer.issuer, aud: audience, sub: 'ada', iat: nowS(), exp: nowS() + 60 })
  const sign = (payload: JWTPayload, header: object = {}) =>
    new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'at+jwt', ...header }).sign(rsa.privateKey)
  const unsigned = (header: object, payload: JWTPayload) =>
    [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

  const cases: [string, () => Promise<string> | string][] = [
    ['expired', () => sign({ ...good(), exp: nowS() - 60 })],
    ['not yet valid', () => sign({ ...good(), nbf: nowS() + 600 })],
    ['without an expiry', () => sign({ ...good(), exp: undefined })],
    ['without a subject', () => sign({ ...good(), sub: undefined })],
    ['with an endless subject', () => sign({ ...good(), sub: 'a'.repeat(256) })],
    ['with half a character in its subject', () => sign({ ...good(), sub: 'ada\ud800' })],
    ['with a subject that no text column takes', () => sign({ ...good(), sub: 'ada\0' })],
    ['for another audience', () => sign({ ...good(), aud: 'http://other.test' })],
    ['of another issuer', () => sign({ ...good(), iss: 'http://other.test' })],
    ['of another type', () => sign(good(), { typ: 'logout+jwt' })],
    ['with an unknown key id', () => sign(good(), { kid: 'two' })],
    ['with alg none', () => `${unsigned({ alg: 'none', typ: 'at+jwt' }, good())}.`],
    [
      'signed with the public key as a secret',
      () => {
        const text = unsigned({ alg: 'HS256', kid: 'one', typ: 'at+jwt' }, good())
        return `${text}.${createHmac('sha256', pem).update(text).digest('base64url')}`
      },
    ],
    [
      'with a changed payload',
      async () => (await sign(good())).replace(/\.[^.]+\./, `.${Buffer.from('{}').toString('base64url')}.`),
    ],
    ['of an oversized length', () => sign({ ...good(), padding: 'x'.repeat(10_000) })],
    ['that is no token', () => 'not-a-token'],
  ]

  test.each(cases)('%s is refused as INVALID_TOKEN', async (_what, forge) => {
    const verify = createVerifyToken({ issuer: issuer.issuer, audience, logger })
    expect(await verify(await sign(good()))).toMatchObject({ issuer: issuer.issuer, subject: 'ada' })
    await expect(verify(await forge())).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
  })

  test('the log states once a minute why the edge refuses tokens of the issuer', async () => {
    const reported: unknown[] = []
    const log = { ...logger, warn: (fields: unknown) => void reported.push(fields) } as typeof logger
    const verify = createVerifyToken({ issuer: issuer.issuer, audience, logger: log })
    const forOthers = await sign({ ...good(), aud: 'http://other.test' })
    const forged = forOthers.replace(/.{8}$/, 'AAAAAAAA')
    for (const token of [forged, forOthers, forOthers]) await expect(verify(token)).rejects.toThrow()
    expect(reported).toEqual([{ claim: 'aud', value: 'http://other.test', issuer: issuer.issuer, audience }])
  })

  test('a flood of unknown key ids calls the issuer once per cool-down', async () => {
    const verify = createVerifyToken({ issuer: issuer.issuer, audience, logger })
    await verify(await sign(good()))
    const before = issuer.requests()
    const flood = await Promise.all(Array.from({ length: 50 }, (_, index) => sign(good(), { kid: `forged-${index}` })))
    await Promise.allSettled(flood.map(verify))
    expect(issuer.requests() - before).toBeLessThanOrEqual(2)
  })

  test('keys that were fetched stay good while the issuer is away', async () => {
    const verify = createVerifyToken({ issuer: issuer.issuer, audience, logger })
    const token = await sign(good())
    await verify(token)
    await issuer[Symbol.asyncDispose]()
    expect(await verify(token)).toMatchObject({ subject: 'ada' })
  })

  test('an issuer that never responded is a 503, since the token may be good', async () => {
    const verify = createVerifyToken({ issuer: issuer.issuer, audience, logger })
    await issuer[Symbol.asyncDispose]()
    await expect(verify(await sign(good()))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })
})
