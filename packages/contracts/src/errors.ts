/**
 * Every error that a client can receive: its stable code, HTTP status and body shape, spelled once.
 *
 * A `GatewayError` carries a public sentence and keeps the private reason in `cause`, which is logged and never sent.
 * `renderError` is the only place that turns one into an HTTP response.
 */

import * as z from 'zod'
import { fillTargetBody, targetError } from './target-error.ts'
import type { ClientDialect } from './vendors.ts'

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

/** Bodies whose `error` the contract fixes to the word; the thrown message is ignored. */
const FIXED_MESSAGE: Partial<Record<ErrorCode, string>> = {
  NO_AUTH: 'Unauthorized',
  INVALID_KEY: 'Invalid key',
  INVALID_TOKEN: 'Invalid token format',
}

/** The limit behind a 429. `plan_limit` never passes by waiting. */
export const rateLimitTypes = ['plan_limit', 'requests', 'tokens', 'day', 'pending', 'guest_mint'] as const
export type RateLimitType = (typeof rateLimitTypes)[number]

/** The additions of a code to its body. */
export const errorDetails = z.object({
  /** rate_limit_exceeded */
  type: z.enum(rateLimitTypes).optional(),
  /** rate_limit_exceeded: waiting this long admits; 0 where waiting does not help. SERVICE_UNAVAILABLE, UPSTREAMS_EXHAUSTED: when to try again. */
  retryAfterMs: z.number().optional(),
  /** quota_exceeded: ISO 8601. */
  resetDate: z.string().optional(),
  /** quota_exceeded */
  overageEnabled: z.boolean().optional(),
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
    retry_after_ms: z.int(),
    docs: z.string(),
  }),
})

export const quotaExceededBody = z.object({
  error: z.object({
    code: z.literal('quota_exceeded'),
    message: z.string(),
    resetDate: z.string(),
    topupUrl: z.string(),
    overageEnabled: z.boolean(),
  }),
})

export interface RenderedError {
  status: number
  headers: Record<string, string>
  /** JSON text. */
  body: string
}

export interface ErrorLinks {
  docsUrl: string
  topupUrl: string
}

/** Where an error goes. */
export interface ErrorReader {
  dialect?: ClientDialect
  /** chat: the client reads no flat body. */
  isNested?: boolean
  requestId?: string
}

/** Returns an error's message, without the stack of one that was thrown. */
export type PublicError = Pick<GatewayError, 'code' | 'message' | 'details'>

/**
 * The HTTP response for an error, in the shape that its reader knows. `links` are the addresses that error bodies
 * carry.
 */
export function renderError(error: PublicError, links: ErrorLinks, reader: ErrorReader = {}): RenderedError {
  const { code, details } = error
  return {
    status: (reader.dialect === 'messages' ? details.target?.status : undefined) ?? ERROR_STATUS[code],
    headers: errorHeaders(code, details),
    body: JSON.stringify(BODIES[reader.dialect ?? 'chat'](error, links, reader)),
  }
}

const BODIES: Record<ClientDialect, (error: PublicError, links: ErrorLinks, reader: ErrorReader) => object> = {
  chat: chatErrorBody,
  responses: openAiErrorBody,
  messages: (error, links, { requestId }) => messagesErrorBody(error, links, requestId),
}

/** A code's additions to a body, under their names in JSON. */
function additions({ code, details }: PublicError, links: ErrorLinks): object {
  switch (code) {
    case 'rate_limit_exceeded':
      return { retry_after_ms: Math.ceil(details.retryAfterMs ?? 0), docs: links.docsUrl }
    case 'quota_exceeded':
      return {
        resetDate: details.resetDate ?? '',
        topupUrl: links.topupUrl,
        overageEnabled: details.overageEnabled ?? false,
      }
    case 'INVALID_TOKEN':
      return details.hint === undefined ? {} : { hint: details.hint }
    case 'UPSTREAMS_EXHAUSTED':
      return { tier: details.tier ?? '', attempted: details.attempted ?? [] }
    default:
      return {}
  }
}

function messageOf({ code, message }: PublicError): string {
  return FIXED_MESSAGE[code] ?? message
}

/** The contract's two shapes. */
function chatErrorBody(error: PublicError, links: ErrorLinks, { isNested = false }: ErrorReader): object {
  const { code, details, message } = error
  switch (code) {
    case 'rate_limit_exceeded':
      return { error: { code, type: details.type ?? 'requests', message, ...additions(error, links) } }
    case 'quota_exceeded':
      return { error: { code, message, ...additions(error, links) } }
    default:
      if (isNested || !isFlat(code) || details.refusal) return openAiErrorBody(error, links)
      if (code === 'INVALID_TOKEN') return { error: messageOf(error), code }
      return { error: messageOf(error), code, ...additions(error, links) }
  }
}

/** OpenAI's shape, which the Responses API has for every error. */
function openAiErrorBody(error: PublicError, links: ErrorLinks): object {
  const { code, details } = error
  if (details.refusal) return { error: { message: error.message, ...details.refusal, gateway_code: code } }
  const type = details.type ?? (ERROR_STATUS[code] >= 500 ? 'server_error' : 'invalid_request_error')
  return { error: { message: messageOf(error), type, param: details.param ?? null, code, ...additions(error, links) } }
}

/** Anthropic's words for statuses. */
const MESSAGES_TYPES: Record<(typeof ERROR_STATUS)[ErrorCode], string> & Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  408: 'timeout_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  426: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function messagesTypeOf(status: number): string {
  return MESSAGES_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}

/** Anthropic's shape, with our code and its additions beside the message. An event of a stream carries the same. */
export function messagesErrorBody(error: PublicError, links?: ErrorLinks, requestId?: string): object {
  const { code, details } = error
  const limit = details.type === undefined ? {} : { limit: details.type }
  const type = messagesTypeOf(details.target?.status ?? ERROR_STATUS[code])
  const more = links ? additions(error, links) : {}
  const ofTarget = details.refusal && { code: details.refusal.code, param: details.refusal.param, gateway_code: code }
  const said = { type, message: messageOf(error), code, ...limit, ...more, ...ofTarget }
  const ours = { type: 'error', error: said, request_id: requestId ?? null }
  if (details.target?.body === undefined) return ours
  return fillTargetBody(details.target.body, ours, code, details.refusal && error.message)
}

function errorHeaders(code: ErrorCode, details: ErrorDetails): Record<string, string> {
  const { shouldRetry } = details.target ?? {}
  const headers = headersOf(code, details)
  return shouldRetry === undefined ? headers : { ...headers, 'x-should-retry': String(shouldRetry) }
}

function headersOf(code: ErrorCode, details: ErrorDetails): Record<string, string> {
  const isLimit = code === 'rate_limit_exceeded' && details.type !== 'plan_limit'
  if (isLimit || (ERROR_STATUS[code] === 503 && details.retryAfterMs !== undefined)) {
    const waitMs = Math.ceil(details.retryAfterMs ?? 0)
    return { 'retry-after-ms': String(waitMs), 'retry-after': String(Math.ceil(waitMs / 1000)) }
  }
  if (code === 'METHOD_NOT_ALLOWED' && details.allow) return { allow: details.allow }
  if (details.upgrade !== undefined)
    return { upgrade: details.upgrade, connection: 'upgrade', 'x-should-retry': 'false' }
  if (details.hint !== undefined) {
    const said = `Bearer error="invalid_token", error_description="${details.hint}"`
    return { 'www-authenticate': said, 'x-should-retry': 'false' }
  }
  const retryHelps = ERROR_STATUS[code] >= 500 || code === 'CLIENT_TIMEOUT'
  return retryHelps ? {} : { 'x-should-retry': 'false' }
}
