/**
 * Verifies a sign-in token: an OIDC access token of the configured issuer with this service as its audience.
 *
 * For each fault of a token, its bearer learns only INVALID_TOKEN. The log names the issuer's own tokens that are for another
 * audience, which is a mistake of the configuration. An issuer that is away is a 503: the token may be good.
 */

import { errors, type JWTPayload, jwtVerify } from 'jose'
import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import { GatewayError } from '@gateway/contracts/errors'
import type { Logger } from '@gateway/telemetry/logger'
import { followIssuerKeys, IssuerUnavailableError } from './issuer-keys.ts'

export interface VerifiedToken extends KeyOwner {
  claims: JWTPayload
}
export type VerifyToken = (token: string) => Promise<VerifiedToken>

/** Resolves with the person who signed in. */
export type VerifySignIn = (token: string) => Promise<KeyOwner>

/** The claims of a token go no further than where they are needed. */
export function verifyOwner(verify: VerifyToken): VerifySignIn {
  return async (token) => {
    const { issuer, subject } = await verify(token)
    return { issuer, subject }
  }
}

/** Asymmetric only: with a secret algorithm, the issuer's public key would be a valid secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** RFC 9068's type, and the types of older issuers. */
const TYPES = new Set(['at+jwt', 'application/at+jwt', 'jwt', undefined])

const CLOCK_TOLERANCE_S = 5
const REPORT_AGAIN_AFTER_MS = 60_000
const MAX_TOKEN_LENGTH = 8_192
/** `sub` is at most 255 characters (OpenID Connect Core, section 2). */
const MAX_SUBJECT_LENGTH = 255

export function createVerifyToken({
  issuer,
  audience,
  logger,
}: {
  issuer: string
  audience: string
  logger: Logger
}): VerifyToken {
  const findKey = followIssuerKeys(issuer, logger)
  let reportedAtMs = -Infinity
  const reportMisconfigured = (error: unknown) => {
    // Its signature was good: strangers cannot fill the log.
    if (!(error instanceof errors.JWTClaimValidationFailed) || Date.now() - reportedAtMs < REPORT_AGAIN_AFTER_MS) return
    reportedAtMs = Date.now()
    const { claim, payload } = error
    logger.warn({ claim, value: payload[claim], issuer, audience }, "a sign-in token of the issuer's was refused")
  }
  return async (token) => {
    if (token.length > MAX_TOKEN_LENGTH) throw invalidToken()
    try {
      const { payload, protectedHeader } = await jwtVerify(token, findKey, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: ['sub', 'exp'],
      })
      if (!TYPES.has(protectedHeader.typ?.toLowerCase()) || !isSubject(payload.sub)) throw invalidToken()
      return { issuer, subject: payload.sub, claims: payload }
    } catch (error) {
      if (error instanceof GatewayError) throw error
      if (error instanceof IssuerUnavailableError) {
        throw new GatewayError(
          'SERVICE_UNAVAILABLE',
          'Sign-in cannot be checked at the moment; try again shortly',
          {},
          { cause: error },
        )
      }
      reportMisconfigured(error)
      throw invalidToken(error)
    }
  }
}

/** As a database stores it: one that is changed on the way there could be somebody else's. */
function isSubject(subject: string | undefined): subject is string {
  if (!subject || subject.length > MAX_SUBJECT_LENGTH) return false
  return subject.isWellFormed() && !subject.includes('\0')
}

/** For gateways without an issuer: no token is a session. */
export const refuseEveryToken: VerifyToken = async () => {
  throw invalidToken()
}

export function invalidToken(cause?: unknown, hint?: string): GatewayError {
  return new GatewayError('INVALID_TOKEN', 'Invalid token format', hint === undefined ? {} : { hint }, { cause })
}
