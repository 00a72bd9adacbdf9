import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { startIdentityProvider } from './identity-provider.ts'
import { signIn } from './identity-provider/sign-in.ts'

const consoleUrl = 'http://127.0.0.1:9/console'
const redirectUri = `${consoleUrl}/callback`

test('a person who signs in by the page gets an access token for the gateway, signed by the published key', async () => {
  await using provider = await startIdentityProvider({ audience: 'http://gateway.test', consoleUrl })
  const token = await signIn(provider.issuer, { name: 'ada', redirectUri })
  const keys = createRemoteJWKSet(new URL('/jwks', provider.issuer))
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: provider.issuer,
    audience: 'http://gateway.test',
  })
  expect(payload.sub).toBe('ada')
  expect(protectedHeader).toMatchObject({ alg: 'ES256', typ: 'at+jwt' })
})

test.each([
  ['ada', [], []],
  ['owner', ['gateway-owner'], []],
  ['owner-2@search,ads', ['gateway-owner'], ['search', 'ads']],
  ['reader', ['gateway-reader'], []],
  ['ownership@search', [], ['search']],
])('the token of %s has the roles %j and the groups %j', async (name, roles, groups) => {
  await using provider = await startIdentityProvider({ audience: 'http://gateway.test', consoleUrl })
  const token = await signIn(provider.issuer, { name, redirectUri })
  const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as object
  expect(claims).toMatchObject({ sub: name, roles, groups, email: expect.stringMatching(/@example\.com$/) })
})

test('nobody is sent back to an address that is not registered', async () => {
  await using provider = await startIdentityProvider({ audience: 'http://gateway.test', consoleUrl })
  await expect(signIn(provider.issuer, { name: 'ada', redirectUri: 'http://127.0.0.1:9/elsewhere' })).rejects.toThrow(
    /redirect_uri/,
  )
})

test.each([
  ['evil.example', 421],
  ['127.0.0.1', 200],
  ['[::1]', 200],
  ['localhost', 200],
])(
  'a page at the name %s gets status %i, since a foreign name may have been made to lead here',
  async (name, status) => {
    await using provider = await startIdentityProvider({ audience: 'http://gateway.test', consoleUrl })
    const { port } = new URL(provider.issuer)
    const requested = request(new URL('/.well-known/openid-configuration', provider.issuer), {
      headers: { host: `${name}:${port}` },
    }).end()
    const [reply] = (await once(requested, 'response')) as [IncomingMessage]
    reply.resume()
    expect(reply.statusCode).toBe(status)
  },
)
