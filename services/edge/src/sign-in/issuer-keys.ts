/**
 * The public keys of the OIDC issuer, found by discovery and kept.
 *
 * A key id that is not known has the keys fetched again, at most once per cool-down, so that a rotation is seen at once
 * and a flood of forged tokens asks the issuer nothing. While the issuer is away, the keys last fetched stay good for
 * {@link STALE_KEYS_MS}; without any, verification fails as unavailable.
 */

import {
  createLocalJWKSet,
  type CryptoKey,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from 'jose'
import { JWKSNoMatchingKey } from 'jose/errors'
import { request } from 'undici'
import * as z from 'zod'
import type { Logger } from '@gateway/telemetry/logger'

/** How long keys are used before they are fetched again. */
const REFRESH_AFTER_MS = 10 * 60_000
/** Between two fetches that unknown key ids cause, and after a failed one. */
const COOL_DOWN_MS = 10_000
/** How long keys stay good while the issuer cannot be asked. */
export const STALE_KEYS_MS = 24 * 60 * 60_000
const FETCH_TIMEOUT_MS = 5_000
const MAX_DOCUMENT_BYTES = 1024 * 1024

export class IssuerUnavailableError extends Error {
  override name = 'IssuerUnavailableError'
}

export type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>

const discoveryDocument = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) })
const keySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) })

interface FetchedKeys {
  find: ReturnType<typeof createLocalJWKSet>
  fetchedAtMs: number
}

export function followIssuerKeys(issuer: string, logger: Logger, nowMs: () => number = Date.now): FindKey {
  let held: FetchedKeys | null = null
  let fetching: Promise<void> | null = null
  let lastTryAtMs = -Infinity

  /** One fetch at a time, whoever asks. */
  function refresh(): Promise<void> {
    lastTryAtMs = nowMs()
    fetching ??= fetchKeys(issuer)
      .then((keys) => {
        held = { find: createLocalJWKSet(keys), fetchedAtMs: nowMs() }
      })
      .catch((error: unknown) => {
        logger.warn({ err: error, issuer }, "the issuer's keys could not be fetched; those held stay in use")
      })
      .finally(() => {
        fetching = null
      })
    return fetching
  }

  const mayTry = () => fetching !== null || nowMs() - lastTryAtMs >= COOL_DOWN_MS

  return async (header, token) => {
    if (!held && mayTry()) await refresh()
    if (!held || nowMs() - held.fetchedAtMs > STALE_KEYS_MS) {
      if (held && mayTry()) await refresh()
      if (!held || nowMs() - held.fetchedAtMs > STALE_KEYS_MS)
        throw new IssuerUnavailableError(`the issuer ${issuer} cannot be asked for its keys`)
    }
    if (nowMs() - held.fetchedAtMs > REFRESH_AFTER_MS && mayTry()) void refresh()
    try {
      return await held.find(header, token)
    } catch (error) {
      if (!(error instanceof JWKSNoMatchingKey) || !mayTry()) throw error
      await refresh()
      return held.find(header, token)
    }
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
