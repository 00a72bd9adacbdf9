/**
 * The public keys of the OIDC issuer: jose's remote key set, behind discovery and with keys that outlive an outage.
 *
 * For an unknown key id, the edge fetches the keys again, at most once per cool-down. So it sees a rotation at once, and a
 * flood of forged tokens does not reach the issuer. While the issuer is away, the last keys stay good for {@link
 * STALE_KEYS_MS}; without any, verification fails as unavailable.
 */

import { createRemoteJWKSet, customFetch, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { request } from 'undici'
import * as z from 'zod'
import type { Logger } from '@gateway/telemetry/logger'

/** The edge uses keys for this time before it fetches them again. */
const REFRESH_AFTER_MS = 10 * 60_000
/** Between two fetches that unknown key ids cause, and after a failed one. */
const COOL_DOWN_MS = 10_000
/** Keys stay good for this time while the issuer is away. */
export const STALE_KEYS_MS = 24 * 60 * 60_000
const FETCH_TIMEOUT_MS = 5_000
const MAX_DOCUMENT_BYTES = 1024 * 1024

export class IssuerUnavailableError extends Error {
  override name = 'IssuerUnavailableError'
}

const discoveryDocument = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) })
const keySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) })

export function followIssuerKeys(issuer: string, logger: Logger): JWTVerifyGetKey {
  let held: { keys: JSONWebKeySet; fetchedAtMs: number } | undefined
  let failedAtMs = -Infinity
  const ageMs = () => (held ? Date.now() - held.fetchedAtMs : Infinity)

  /** For jose, keys that outlive an outage are as good as new: it cools down after them. */
  async function fetchOrKeep(): Promise<Response> {
    if (Date.now() - failedAtMs >= COOL_DOWN_MS) {
      try {
        held = { keys: await fetchKeys(issuer), fetchedAtMs: Date.now() }
      } catch (error) {
        failedAtMs = Date.now()
        logger.warn({ err: error, issuer }, "the issuer's keys could not be fetched; those held stay in use")
      }
    }
    if (held && ageMs() <= STALE_KEYS_MS) return Response.json(held.keys)
    throw new IssuerUnavailableError(`the issuer ${issuer} cannot be asked for its keys`)
  }

  const remote = createRemoteJWKSet(new URL(issuer), {
    [customFetch]: fetchOrKeep,
    cooldownDuration: COOL_DOWN_MS,
    // Its refresh would keep a token waiting.
    cacheMaxAge: Infinity,
  })
  return async (header, token) => {
    if (ageMs() > STALE_KEYS_MS) await remote.reload()
    else if (ageMs() > REFRESH_AFTER_MS && !remote.coolingDown) void remote.reload().catch(() => {})
    return remote(header, token)
  }
}

async function fetchKeys(issuer: string): Promise<JSONWebKeySet> {
  const discovery = discoveryDocument.parse(
    await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`),
  )
  if (discovery.issuer !== issuer) throw new Error(`discovery at ${issuer} names another issuer: ${discovery.issuer}`)
  return keySet.parse(await fetchJson(discovery.jwks_uri))
}

async function fetchJson(url: string): Promise<unknown> {
  const { statusCode, body } = await request(url, {
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  })
  if (statusCode !== 200) {
    await body.dump()
    throw new Error(`${url} answered ${statusCode}`)
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > MAX_DOCUMENT_BYTES) throw new Error(`${url} answered more than ${MAX_DOCUMENT_BYTES} bytes`)
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}
