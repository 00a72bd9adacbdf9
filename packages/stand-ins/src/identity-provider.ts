/**
 * The development identity provider: a real OIDC provider whose sign-in page takes any name without a password.
 *
 * For `npm start`, local clusters and tests, never for production: it is reached on loopback only and says so. Its access
 * tokens are JWTs for the gateway's audience; its signing key is kept where a folder is given, so that tokens outlive a
 * restart.
 */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { isIP, type AddressInfo } from 'node:net'
import type { Configuration } from 'oidc-provider'
// The package's entry warns of a runtime whose `process.release.lts` has no name, as in Node 26.10.
import { Provider } from 'oidc-provider/lib/provider.js'
import { claimsOf } from './identity-provider/claims.ts'
import { serveInteraction, signOutPage } from './identity-provider/serve-interaction.ts'
import { memoryAdapters } from './identity-provider/memory-adapter.ts'
import { keepSigningKeys } from './identity-provider/keep-signing-keys.ts'

/** The public client of the console and of tests: authorization code with PKCE, no secret. */
export const CONSOLE_CLIENT_ID = 'gateway-console'
/** The permission that a sign-in grants at the gateway. */
export const KEYS_SCOPE = 'keys'

export interface IdentityProviderOptions {
  /** Loopback port; 0 takes a free one. */
  port?: number
  /** Loopback unless said otherwise: in a container of its own, whose port is published on loopback. */
  host?: string
  /** Its address as others see it, where that is not its port on loopback. */
  issuer?: string
  /** The gateway's base address: the audience of access tokens. */
  audience: string
  /** The console's address, to which people return, and to its `/callback`. */
  consoleUrl: string
  /** Keeps the signing key here; without it, a new one at every start. */
  directory?: string
  accessTokenTtlS?: number
}

export interface IdentityProvider extends AsyncDisposable {
  readonly issuer: string
}

const LOOPBACK = '127.0.0.1'
const DEFAULT_ACCESS_TOKEN_TTL_S = 3_600

export async function startIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  const server = createServer()
  server.listen(options.port ?? 0, options.host ?? LOOPBACK)
  await once(server, 'listening')
  const issuer = options.issuer ?? `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, await configurationOf(options))
  const protocol = provider.callback()

  server.on('request', (request, response) => {
    if (!isItsName(request.headers.host, issuer)) {
      response.writeHead(421, { 'content-type': 'text/plain; charset=utf-8' })
      response.end(`The development identity provider is at ${issuer}.\n`)
      return
    }
    if (request.url?.startsWith('/interaction/')) void serveInteraction(provider, request, response)
    else void protocol(request, response)
  })
  return {
    issuer,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** A web page could have another name lead to this machine (DNS rebinding), and sign in here as anybody. */
function isItsName(host: string | undefined, issuer: string): boolean {
  const hostname = URL.parse(`http://${host}`)?.hostname ?? ''
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
  return isAddress || hostname === 'localhost' || hostname === new URL(issuer).hostname
}

async function configurationOf(options: IdentityProviderOptions): Promise<Configuration> {
  const { consoleUrl } = options
  return {
    adapter: memoryAdapters(),
    clients: [
      {
        client_id: CONSOLE_CLIENT_ID,
        client_name: 'Model Gateway',
        application_type: 'web',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
        redirect_uris: [consoleUrl, `${consoleUrl}/callback`],
        post_logout_redirect_uris: [consoleUrl],
      },
    ],
    clientBasedCORS: (_context, origin) => origin === new URL(consoleUrl).origin,
    claims: { openid: ['sub'], profile: ['name'] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource(context, form) {
          context.body = signOutPage(form)
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => options.audience,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: KEYS_SCOPE,
          audience: options.audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: options.accessTokenTtlS ?? DEFAULT_ACCESS_TOKEN_TTL_S,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
    findAccount: (_context, subject) => ({ accountId: subject, claims: () => ({ sub: subject, name: subject }) }),
    extraTokenClaims: (_context, token) => ('accountId' in token ? { ...claimsOf(token.accountId) } : undefined),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    jwks: await keepSigningKeys(options.directory),
    async loadExistingGrant(context) {
      // The only client is our own: who signed in has consented.
      const { provider, client, session } = context.oidc
      const grant = new provider.Grant({ clientId: client?.clientId ?? '', accountId: session?.accountId ?? '' })
      grant.addOIDCScope('openid profile')
      grant.addResourceScope(options.audience, KEYS_SCOPE)
      await grant.save()
      return grant
    },
    renderError(context, out) {
      context.type = 'text/plain'
      context.body = `${Object.entries(out)
        .map(([name, value]) => `${name}: ${String(value)}`)
        .join('\n')}\n`
    },
    ttl: {
      AccessToken: options.accessTokenTtlS ?? DEFAULT_ACCESS_TOKEN_TTL_S,
      Grant: 86_400,
      IdToken: 3_600,
      Interaction: 3_600,
      Session: 86_400,
    },
  }
}
