/**
 * A receipt is the signed charge of a response: a compact JWS (EdDSA) over these claims. Anyone verifies it with the public
 * keys at `/.well-known/jwks.json`.
 */

import * as z from 'zod'
import { planUnit } from './usage.ts'

/** The client's request for a receipt (`1`), and the trailer that brings it. */
export const RECEIPT_HEADER = 'x-svc-receipt'
/** The member of a stream's last event that bears usage. */
export const RECEIPT_MEMBER = 'svc_receipt'
export const RECEIPT_TYPE = 'receipt+jwt'
export const RECEIPT_KEYS_PATH = '/.well-known/jwks.json'

const count = z.int().nonnegative()

export const receiptClaims = z.object({
  /** The gateway's public address. */
  iss: z.string(),
  /** The request's id. */
  jti: z.string(),
  /** The time of the response's end, in seconds since 1970. */
  iat: z.int(),
  /** The id of the account's project. */
  account: z.string(),
  /** The model that served. */
  model: z.string(),
  usage: z.object({
    prompt_tokens: count,
    completion_tokens: count,
    cached_tokens: count,
    /** The backend reported no counts. */
    estimated: z.boolean(),
  }),
  /** `amount`: a decimal number without an exponent, in allowance tokens or US dollars. */
  charge: z.object({ amount: z.string().regex(/^\d+(\.\d+)?$/), unit: planUnit }),
  /** The bytes of the body; of a stream, those before the event that has the receipt. */
  content: z.object({ bytes: count, sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
})
export type ReceiptClaims = z.infer<typeof receiptClaims>

/** Edges request from keys the secrets that sign receipts. Current first, then those of former master keys. */
export const receiptSecretsRequest = z.object({})
export const receiptSecretsReply = z.object({
  secrets: z.array(z.object({ masterKeyId: z.string(), secret: z.base64url() })).min(1),
})
export type ReceiptSecretsReply = z.infer<typeof receiptSecretsReply>
