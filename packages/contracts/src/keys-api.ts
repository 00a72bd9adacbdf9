/**
 * Requests to the keys service over the bus.
 */

import * as z from 'zod'
import { readsSuspended } from './developer-keys-api.ts'
import { planVersion } from './usage.ts'

/** Admission returned MISS: keys writes its state of this account and key into the admission store, then replies. */
export const fillRequest = z.object({ account: z.string(), keyHash: z.string() })
export const fillReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('filled'), plan: z.string() }),
  z.object({ kind: z.literal('unknown') }),
])
export type FillRequest = z.infer<typeof fillRequest>
export type FillReply = z.infer<typeof fillReply>

const limit = z.int().min(1).nullable()

/** As admission's `ProjectFacts`. */
export const projectFacts = z.object({
  hardLimit: z.int().min(0).nullable(),
  modelLimits: z.array(
    z.object({ model: z.string(), requestsPerMinute: limit, tokensPerMinute: limit, requestsPerDay: limit }),
  ),
  policy: z.string(),
  policyVersion: z.int(),
})

/** As admission's `KeyLimits`. */
export const keyLimitFacts = z.object({
  keyId: z.string(),
  expiresAtMs: z.number().nullable(),
  monthly: z.int().min(0).nullable(),
  requestsPerMinute: limit,
  tokensPerMinute: limit,
  policy: z.string(),
})

/**
 * While the admission store is away, edges request the state of a key from keys itself. Nothing is written, and no
 * edge may keep the reply.
 */
export const lookUpRequest = z.object({ account: z.string(), keyHash: z.string() })
export const lookUpReply = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('active'),
    plan: z.string(),
    planVersion: planVersion.optional(),
    overage: z.boolean(),
    /** Top-ups of the current window, in the plan's smallest unit. */
    extra: z.int(),
    /** Both for each key of a project, and for no other. A key that has expired is `dead`. */
    project: projectFacts.optional(),
    limits: keyLimitFacts.optional(),
  }),
  z.object({ kind: z.literal('dead') }),
])
export type LookUpRequest = z.infer<typeof lookUpRequest>
export type LookUpReply = z.infer<typeof lookUpReply>

/** The HTTP body of `POST /v1/keys/guest`. */
export const guestKeyRequest = z.looseObject({ device_id: z.string().min(1).max(256) })

export const mintGuestRequest = z.object({
  deviceId: z.string(),
  /** The client's address (IPv6: its /64), for the cap on new devices. */
  clientNetwork: z.string(),
  readsSuspended,
})
export const mintGuestReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('minted'), key: z.string(), plan: z.string(), rateLimitPerDay: z.int() }),
  z.object({ kind: z.literal('limited'), retryAfterMs: z.int() }),
  /** More callers request new keys than keys can create. */
  z.object({ kind: z.literal('busy'), retryAfterMs: z.int() }),
  /** An operator has suspended the device's account. */
  z.object({ kind: z.literal('suspended') }),
])
export type MintGuestRequest = z.infer<typeof mintGuestRequest>
export type MintGuestReply = z.infer<typeof mintGuestReply>

export const guestKeyResponse = z.object({ key: z.string(), plan: z.string(), rate_limit_per_day: z.int() })

/** Routers request from keys the secrets that seal the state which clients keep. Current first, then those of former master keys. */
export const stateSecretsRequest = z.object({})
export const stateSecretsReply = z.object({
  secrets: z.array(z.object({ masterKeyId: z.string(), secret: z.base64url() })).min(1),
})
export type StateSecretsReply = z.infer<typeof stateSecretsReply>
