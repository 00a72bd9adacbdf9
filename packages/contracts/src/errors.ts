/**
 * Every error that a client can receive: its stable code, HTTP status and body shape, spelled once.
 *
 * A `GatewayError` carries a public sentence and keeps the private reason in `cause`, which is logged and never sent.
 * `render-error.ts` is the only place that turns one into an HTTP response.
 */

import * as z from 'zod'
import { targetError } from './target-error.ts'

export const ERROR_STATUS = {
  NO_AUTH: 401,
  INVALID_KEY: 401,
  INVALID_TOKEN: 401,
  VALIDATION_ERROR: 400,
  FORBIDDEN: 403,
  MODEL_NOT_FOUND: 404,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CLIENT_TIMEOUT: 408,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  UPGRADE_REQUIRED: 426,
  quota_exceeded: 402,
  rate_limit_exceeded: 429,
  UPSTREAMS_EXHAUSTED: 503,
  SERVICE_UNAVAILABLE: 503,
  INTERNAL_ERROR: 500,
} as const

export type ErrorCode = keyof typeof ERROR_STATUS

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_STATUS, code)
}

/** The codes whose bodies the contract makes flat: `error` is the sentence. All others are nested. */
const FLAT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'NO_AUTH',
  'INVALID_KEY',
  'INVALID_TOKEN',
  'UPSTREAMS_EXHAUSTED',
  'VALIDATION_ERROR',
])

export function isFlat(code: ErrorCode): boolean {
  return FLAT.has(code)
}

/** The limit behind a 429. `plan_limit` never passes by waiting. */
export const rateLimitTypes = ['plan_limit', 'requests', 'tokens', 'day', 'pending', 'guest_mint'] as const
export type RateLimitType = (typeof rateLimitTypes)[number]

/** The limit that refused: the account's own, its key's, or the one for the model. As admission's `LimitScope`. */
export const limitScopes = ['account', 'key', 'model'] as const
export type LimitScope = (typeof limitScopes)[number]

/** The additions of a code to its body. */
export const errorDetails = z.object({
  /** rate_limit_exceeded */
  type: z.enum(rateLimitTypes).optional(),
  /** rate_limit_exceeded, quota_exceeded */
  scope: z.enum(limitScopes).optional(),
  /** rate_limit_exceeded: waiting this long admits; 0 where waiting does not help. SERVICE_UNAVAILABLE, UPSTREAMS_EXHAUSTED: when to try again. */
  retryAfterMs: z.number().optional(),
  /** quota_exceeded: ISO 8601. */
  resetDate: z.string().optional(),
  /** quota_exceeded */
  overageEnabled: z.boolean().optional(),
  /** quota_exceeded: the id of the project whose key was refused. */
  project: z.string().optional(),
  /** UPSTREAMS_EXHAUSTED: the lane of the request. */
  tier: z.string().optional(),
  /** UPSTREAMS_EXHAUSTED: backend ids in the order of the attempts. */
  attempted: z.array(z.string()).optional(),
  /** VALIDATION_ERROR: the field of the request. */
  param: z.string().optional(),
  /** VALIDATION_ERROR: a target refused the request, in these words of its own. */
  refusal: z.object({ code: z.string(), type: z.string(), param: z.string().nullable() }).optional(),
  /** VALIDATION_ERROR, UPSTREAMS_EXHAUSTED: a client of Messages reads this error of its target. */
  target: targetError.optional(),
  /** INVALID_TOKEN: the caller's likely mistake. The contract fixes the words of the flat body, so it stands beside them. */
  hint: z.string().optional(),
  /** METHOD_NOT_ALLOWED: the value of `Allow`. */
  allow: z.string().optional(),
  /** UPGRADE_REQUIRED: the protocol that the path speaks, the value of `Upgrade`. */
  upgrade: z.string().optional(),
})
export type ErrorDetails = z.infer<typeof errorDetails>

export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'GatewayError'
    this.code = code
    this.details = details
  }
}

/** Errors of the Messages API. */
export const messagesError = z.object({
  type: z.literal('error'),
  error: z.looseObject({ type: z.string(), message: z.string(), code: z.string() }),
  request_id: z.string().nullable(),
})

export const flatErrorBody = z.object({
  error: z.string(),
  code: z.string(),
  tier: z.string().optional(),
  attempted: z.array(z.string()).optional(),
})

/** OpenAI's shape. */
export const nestedErrorBody = z.object({
  error: z.looseObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
})

export const rateLimitBody = z.object({
  error: z.object({
    code: z.literal('rate_limit_exceeded'),
    type: z.enum(rateLimitTypes),
    message: z.string(),
    scope: z.enum(limitScopes).optional(),
    retry_after_ms: z.int(),
    docs: z.string(),
  }),
})

export const quotaExceededBody = z.object({
  error: z.object({
    code: z.literal('quota_exceeded'),
    message: z.string(),
    scope: z.enum(limitScopes).optional(),
    resetDate: z.string(),
    topupUrl: z.string(),
    overageEnabled: z.boolean(),
  }),
})

/** The schemas of bodies, by their names in the API reference. */
export const errorSchemas = {
  FlatError: flatErrorBody,
  RateLimitError: rateLimitBody,
  QuotaError: quotaExceededBody,
  NestedError: nestedErrorBody,
  MessagesError: messagesError,
}
export type ErrorSchemaName = keyof typeof errorSchemas

/** Returns an error's message, without the stack of one that was thrown. */
export type PublicError = Pick<GatewayError, 'code' | 'message' | 'details'>
