/**
 * Signs in as a browser would (authorization code with PKCE, cookies, the sign-in page) and returns the access token.
 */

import { createHash, randomBytes } from 'node:crypto'
import { CONSOLE_CLIENT_ID, KEYS_SCOPE } from '../identity-provider.ts'

export async function signIn(issuer: string, options: { name: string; redirectUri: string }): Promise<string> {
  const verifier = randomBytes(32).toString('base64url')
  const cookies = new Map<string, string>()
  const authorize = new URL('/auth', issuer)
  authorize.search = new URLSearchParams({
    client_id: CONSOLE_CLIENT_ID,
    response_type: 'code',
    scope: `openid ${KEYS_SCOPE}`,
    redirect_uri: options.redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString()

  let location = authorize.href
  while (!location.startsWith(options.redirectUri)) {
    const isPage = new URL(location).pathname.startsWith('/interaction/')
    const form = isPage ? { method: 'POST', body: new URLSearchParams({ name: options.name }) } : {}
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(location, { redirect: 'manual', headers: { cookie }, ...form })
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
      cookies.set(name, value)
    }
    const next = response.headers.get('location')
    if (next === null) throw new Error(`sign-in stopped at ${location}: ${response.status} ${await response.text()}`)
    location = new URL(next, location).href
  }

  const code = new URL(location).searchParams.get('code')
  if (code === null) throw new Error(`sign-in was refused: ${location}`)
  const response = await fetch(new URL('/token', issuer), {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: CONSOLE_CLIENT_ID,
      code,
      code_verifier: verifier,
      redirect_uri: options.redirectUri,
    }),
  })
  const body = (await response.json()) as { access_token?: string }
  if (!body.access_token) throw new Error(`no access token: ${JSON.stringify(body)}`)
  return body.access_token
}
