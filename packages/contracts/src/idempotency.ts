/**
 * The messages between edges about responses to requests with an `Idempotency-Key`, and the form of kept responses.
 */

import * as z from 'zod'
import { ERROR_STATUS, errorDetails, type ErrorCode } from './errors.ts'
import { openEnum } from './open-enum.ts'
import { usageEvent } from './usage-event.ts'

export const IDEMPOTENCY_KEY = 'Idempotency-Key'
/** Every response that was made for another request has this header. */
export const REPLAYED_HEADER = 'idempotent-replayed'

/** 1 to 255 visible ASCII characters. */
export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,255}$/)

/** Edges request from keys the secrets that encrypt kept responses. Current first, then those of former master keys. */
export const responseSecretsRequest = z.object({})
export const responseSecretsReply = z.object({
  secrets: z.array(z.object({ masterKeyId: z.string(), secret: z.base64url() })).min(1),
})
export type ResponseSecretsReply = z.infer<typeof responseSecretsReply>

/** The header of the job that requests from an edge a response that it runs, from its beginning. */
export const followRequest = z.object({ account: z.string(), requestId: z.uuid() })
export type FollowRequest = z.infer<typeof followRequest>

const headers = z.record(z.string(), z.string())

/** The frames that come back, besides the response's own bytes. */
export const followedHead = z.object({ contentType: z.string(), headers })
export type FollowedHead = z.infer<typeof followedHead>
export const followedEnd = z.object({ headers })
export type FollowedEnd = z.infer<typeof followedEnd>
export const followedFailure = z.object({
  code: openEnum(Object.keys(ERROR_STATUS) as ErrorCode[]),
  message: z.string(),
  /** Those that only a newer edge knows are left out. */
  details: errorDetails.catch({}),
})
export type FollowedFailure = z.infer<typeof followedFailure>

/** Encrypted together with the response's bytes. An edge that replays an unsettled response reports the usage again. */
export const keptHead = z.object({ contentType: z.string(), headers, usage: usageEvent })
export type KeptHead = z.infer<typeof keptHead>
