/**
 * Proves a body by its signature, by the Standard Webhooks specification: HMAC-SHA256 of id, time and body. It reads nothing of the body
 * before. A captured call is refused after five minutes, and repeats itself before.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '@gateway/contracts/errors'
import { invalidToken } from './verify-token.ts'

const TOLERANCE_MS = 5 * 60_000
const SECRET_PREFIX = /^whsec_/
const VERSION = 'v1,'

/** Throws unless one of the secrets has signed the body. */
export function verifySignature(
  secrets: readonly string[],
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  nowMs = Date.now(),
): void {
  if (secrets.length === 0) throw new GatewayError('NOT_FOUND', UNSET)
  if (!secrets.some((secret) => isSignedBy(secret, headers, body, nowMs))) throw invalidToken(undefined, HINT)
}

const UNSET = 'This gateway takes no signed top-ups; set TOP_UP_SECRETS on its edges'
const HINT =
  'Sign by Standard Webhooks: webhook-id, webhook-timestamp of the last 5 minutes, webhook-signature by a secret of TOP_UP_SECRETS'

function isSignedBy(secret: string, headers: IncomingHttpHeaders, body: Uint8Array, nowMs: number): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures } = headers
  if (typeof id !== 'string' || typeof seconds !== 'string' || typeof signatures !== 'string') return false
  if (!/^\d+$/.test(seconds) || Math.abs(nowMs - Number(seconds) * 1_000) > TOLERANCE_MS) return false
  const key = Buffer.from(secret.replace(SECRET_PREFIX, ''), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest()
  return signatures.split(' ').some((signature) => isSame(signature, expected))
}

function isSame(signature: string, expected: Buffer): boolean {
  if (!signature.startsWith(VERSION)) return false
  const given = Buffer.from(signature.slice(VERSION.length), 'base64')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
