/**
 * Developer keys: the requests to the keys service over the bus, and the HTTP bodies of `/v1/keys/developer`.
 *
 * A signed-in caller acts on the account of the token's issuer and subject. A key is named by its hash: the key itself
 * never travels towards the service.
 */

import * as z from 'zod'
import { callOrigin } from './administration/envelope.ts'
import { MASKED_KEY } from './api-key.ts'
import { openEnum } from './open-enum.ts'

const keyOwner = z.object({ issuer: z.string().min(1), subject: z.string().min(1) })
export type KeyOwner = z.infer<typeof keyOwner>

/** SHA-256 of the whole key, base64url. */
const keyHash = z.string().min(1)

const keyStatuses = ['active', 'deactivated'] as const

/** For the audit log. A former edge names none. */
const origin = callOrigin.optional()

/** The caller reads the reply `suspended`. A former edge does not, so its call fails. */
export const readsSuspended = z.boolean().optional()

export const mintKeyRequest = z.object({ owner: keyOwner, origin, readsSuspended })
export const mintedKey = z.object({ kind: z.literal('minted'), key: z.string(), plan: z.string() })
/** `suspended`: an operator has suspended the caller's account. */
export const mintKeyReply = z.discriminatedUnion('kind', [mintedKey, z.object({ kind: z.literal('suspended') })])
export type MintKeyRequest = z.infer<typeof mintKeyRequest>
export type MintKeyReply = z.infer<typeof mintKeyReply>

/** The ticket of {@link findSessionReply}. A former edge has none. */
const ticket = z.string().optional()
/** `isLate`: the ticket is void, since a mint has returned the key after it was given. */
const invalid = z.object({ kind: z.literal('invalid'), isLate: z.boolean().optional() })

/** `invalid`: not an active key of this owner; nothing has changed. */
export const rotateKeyRequest = z.object({ owner: keyOwner, keyHash, ticket, origin })
export const rotateKeyReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('rotated'), key: z.string(), plan: z.string() }),
  invalid,
])
export type RotateKeyRequest = z.infer<typeof rotateKeyRequest>
export type RotateKeyReply = z.infer<typeof rotateKeyReply>

/** Revoking one's own dead key returns `revoked` again. `invalid`: not a key of this owner. */
export const revokeKeyRequest = z.object({ owner: keyOwner, keyHash, ticket, origin })
export const revokeKeyReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('revoked'), keyId: z.string() }),
  invalid,
])
export type RevokeKeyRequest = z.infer<typeof revokeKeyRequest>
export type RevokeKeyReply = z.infer<typeof revokeKeyReply>

export const listedKey = z.object({
  keyId: z.string(),
  plan: z.string(),
  status: openEnum(keyStatuses),
  /** ISO 8601. */
  createdAt: z.string(),
  lastUsedAt: z.string().nullable(),
})
export type ListedKey = z.infer<typeof listedKey>

/** Newest first, in pages: `after` is the id of a page's last key. */
export const listKeysRequest = z.object({ owner: keyOwner, after: z.string().optional() })
export const listKeysReply = z.object({
  keys: z.array(listedKey),
  /** The next page's `after`; null on the last page, and from a former keys service. */
  next: z.string().nullable().default(null),
  /** No key of this owner has the id in `after`. */
  isUnknown: z.boolean().optional(),
})
export type ListKeysRequest = z.infer<typeof listKeysRequest>
export type ListKeysReply = z.infer<typeof listKeysReply>

/**
 * The key through which a signed-in caller uses the inference endpoints. `toEnd`: the caller is about to rotate or revoke
 * this key, and the reply has a ticket for that where the key is active.
 */
export const findSessionRequest = z.object({ owner: keyOwner, toEnd: keyHash.optional() })
export const findSessionReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('found'), account: z.string(), keyId: z.string(), keyHash, plan: z.string(), ticket }),
  z.object({ kind: z.literal('none') }),
])
export type FindSessionRequest = z.infer<typeof findSessionRequest>
export type FindSessionReply = z.infer<typeof findSessionReply>

/** The account of a signed-in caller, whether or not it has an active key. */
export const findAccountRequest = z.object({ owner: keyOwner })
export const findAccountReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('found'), account: z.string() }),
  z.object({ kind: z.literal('none') }),
])
export type FindAccountRequest = z.infer<typeof findAccountRequest>
export type FindAccountReply = z.infer<typeof findAccountReply>

/**
 * Keys publishes it to every edge: the key is dead. Rotation lets its open responses finish; any other reason cuts
 * them. A suspended key may live again: its requests up to the account's `version` are cut.
 */
export const keysInvalidated = z.object({
  account: z.string(),
  keyHash,
  keyId: z.string(),
  reason: openEnum(['rotated', 'revoked', 'suspended']),
  version: z.int().optional(),
})
export type KeysInvalidated = z.infer<typeof keysInvalidated>

/** Metering broadcasts it, at most once a minute for each key. Nothing depends on it. */
export const keysUsed = z.object({ uses: z.array(z.object({ keyId: z.string(), usedAtMs: z.int() })) })
export type KeysUsed = z.infer<typeof keysUsed>

/** The HTTP body of a mint: an empty object, or none. */
export const mintKeyBody = z.looseObject({})

/** The HTTP bodies of rotate and revoke, which name the current key. */
export const currentKeyRequest = z.looseObject({ key: z.string().min(1) })

export const developerKeyResponse = z.object({ key: z.string(), plan: z.string() })
export const rotatedKeyResponse = z.object({ key: z.string(), plan: z.string(), rotated: z.literal(true) })
export const revokedKeyResponse = z.object({ key: z.string(), revoked: z.literal(true) })
/** `after`: the `next` of the page before. A key's masked form in the list serves as well. */
export const developerKeyListQuery = z.object({
  after: z.string().regex(MASKED_KEY, 'must be the next of a page before').optional(),
})
export const developerKeyListResponse = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      key: z.string(),
      plan: z.string(),
      status: z.enum(keyStatuses),
      created_at: z.string(),
      last_used_at: z.string().nullable(),
    }),
  ),
  /** Missing from an edge that is older than the console. */
  next: z.string().nullable().optional(),
})
