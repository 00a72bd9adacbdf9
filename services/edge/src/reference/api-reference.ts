/**
 * The texts of the API reference for operations, errors and responses' headers.
 */

import type { ZodType } from 'zod'
import type { ErrorCode } from '@gateway/contracts/errors'
import { REPLAYED_HEADER } from '@gateway/contracts/idempotency'
import type { Credential } from '../auth/authenticate.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** An operation in the words of its users. */
export interface Documentation {
  group: OperationGroup
  summary: string
  /** Paragraphs. */
  description: string[]
  /** A parameter without a schema is any string. */
  query?: { name: string; description: string; required?: boolean; example?: string; schema?: ZodType }[]
  pathParameters?: { name: string; description: string; example: string }[]
  /** Headers that it takes, besides those that every request has. */
  headers?: { name: string; description: string; schema?: ZodType }[]
  requestSchema?: ZodType
  /** JSON where it is left out. */
  requestType?: string
  /** The request may come without its body. */
  isBodyOptional?: true
  /** A WebSocket's: of one message of the server. */
  responseSchema: ZodType
  /** The connection leaves HTTP, in response to an upgrade. */
  isUpgrade?: true
  /** Of one event, where the response can be a stream. */
  eventSchema?: ZodType
  examples: Example[]
  /** Beyond those of its credential, of its body and of every operation. */
  errors: ErrorCode[]
}

/** An operation with its row of the route table. */
export interface Operation extends Documentation {
  id: string
  method: Method
  /** As in OpenAPI: `/v1/models/{id}`. */
  path: string
  credential: Credential
}

export interface Example {
  name: string
  /** `$KEY` in it stands for the caller's API key. */
  body?: Record<string, unknown>
}

export const operationGroups = ['Inference', 'Models', 'Account', 'Keys', 'Administration'] as const
type OperationGroup = (typeof operationGroups)[number]

interface CredentialTerms {
  sentence: string
  /** Where examples have it from. */
  variable?: '$SVC_KEY' | '$SIGNIN_TOKEN' | '$ADMIN_KEY'
  errors: ErrorCode[]
  /** In OpenAPI's terms. */
  security: object[]
}

/** A request that names one in `authorization` and another in `x-api-key`. */
const TWO_CREDENTIALS: ErrorCode[] = ['VALIDATION_ERROR']

const key: CredentialTerms = {
  sentence: 'An API key, or a sign-in token that acts through its account’s active key.',
  variable: '$SVC_KEY',
  errors: ['NO_AUTH', 'INVALID_KEY', 'INVALID_TOKEN', ...TWO_CREDENTIALS],
  security: [{ key: [] }, { apiKey: [] }, { signIn: [] }],
}

export const credentials: Record<Credential, CredentialTerms> = {
  none: { sentence: 'No credential needed.', errors: [], security: [] },
  key,
  'key at admission': key,
  account: { ...key, sentence: 'An API key, or a sign-in token, which needs no active key.' },
  'sign-in': {
    sentence: 'A sign-in token of the identity provider (not an API key).',
    variable: '$SIGNIN_TOKEN',
    errors: ['NO_AUTH', 'INVALID_TOKEN', ...TWO_CREDENTIALS],
    security: [{ signIn: [] }],
  },
  signature: {
    sentence: 'The signature of a payment system by the Standard Webhooks specification.',
    errors: ['INVALID_TOKEN'],
    security: [],
  },
  administrator: {
    sentence: 'An admin key (svc_admin_…), or the sign-in token of a person who may do this.',
    variable: '$ADMIN_KEY',
    errors: ['NO_AUTH', 'INVALID_KEY', 'INVALID_TOKEN', 'FORBIDDEN', ...TWO_CREDENTIALS],
    security: [{ adminKey: [] }, { signIn: [] }],
  },
}

const errorsOfBody: ErrorCode[] = ['VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']

const errorsOfAll: ErrorCode[] = ['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR']

/** Every error code of an operation, each once. */
export function errorsOf({ credential, requestSchema, errors }: Operation): ErrorCode[] {
  const ofBody = requestSchema ? errorsOfBody : []
  return [...new Set([...credentials[credential].errors, ...ofBody, ...errors, ...errorsOfAll])]
}

/** The meaning of a code and the client's next step. */
export const errorMeanings: Record<ErrorCode, { condition: string; action: string }> = {
  NO_AUTH: { condition: 'Neither Authorization nor x-api-key.', action: 'Send a bearer key.' },
  INVALID_KEY: { condition: 'The key is unknown, revoked or rotated away.', action: 'Mint or rotate a key and retry.' },
  INVALID_TOKEN: {
    condition: 'The bearer value is neither an svc_ key nor a valid session token.',
    action: 'Send a valid credential.',
  },
  VALIDATION_ERROR: {
    condition: 'The body, a parameter or a header is malformed; the message names it.',
    action: 'Correct the request.',
  },
  FORBIDDEN: { condition: 'The caller may not do this; the message says why.', action: 'Do as the message says.' },
  MODEL_NOT_FOUND: { condition: 'There is no such model.', action: 'Pick one of GET /v1/models.' },
  NOT_FOUND: { condition: 'There is nothing at this path.', action: 'Correct the path.' },
  METHOD_NOT_ALLOWED: { condition: 'The path does not take this method.', action: 'Use one that Allow names.' },
  CLIENT_TIMEOUT: {
    condition: 'The time that the client itself allows was over.',
    action: 'Allow more time, or pick a faster model.',
  },
  CONFLICT: { condition: 'The state of the thing forbids the change; the message says why.', action: 'Do as it says.' },
  PAYLOAD_TOO_LARGE: { condition: 'The body is larger than 25 MB.', action: 'Send less.' },
  UNSUPPORTED_MEDIA_TYPE: { condition: 'The body is not JSON.', action: 'Send application/json in UTF-8.' },
  UPGRADE_REQUIRED: {
    condition: 'The path speaks another protocol, which Upgrade names.',
    action: 'Use that protocol; for WebSocket, connect to /v1/responses.',
  },
  quota_exceeded: {
    condition: "The billing cycle's allowance is used up, or (scope key) the monthly limit of the key.",
    action: 'Wait for resetDate, enable overage, or top up at topupUrl.',
  },
  rate_limit_exceeded: {
    condition:
      'A limit per minute or day is reached, or (type plan_limit) the plan, the project or the key does not include the model. ' +
      'scope names the limit: that of the account, of the key, or of the account for this model.',
    action: 'Wait retry_after_ms and retry; with plan_limit, pick an included model or another plan.',
  },
  UPSTREAMS_EXHAUSTED: {
    condition: 'All backends of the model are unavailable; each has been tried.',
    action: 'Retry with exponential backoff.',
  },
  SERVICE_UNAVAILABLE: {
    condition: 'Part of the gateway is unavailable or busy.',
    action: 'Retry with exponential backoff.',
  },
  INTERNAL_ERROR: {
    condition: 'A fault of the gateway.',
    action: 'Retry; if it stays, report the x-request-id.',
  },
}

/** The promise of the limit of tokens per minute, and its bounds. */
export const TOKENS_PER_MINUTE =
  "It begins full and is refilled evenly: up to twice the limit can pass in 60 seconds (a full bucket and a minute's refill). What was generated counts, also of an answer whose client has left."

/** Headers of the inference endpoints' responses. */
export const responseHeaders: Record<string, string> = {
  'x-request-id': 'Names the request in logs and in the ledger. On every answer.',
  'x-svc-upstream': 'The serving pool that produced the answer.',
  'x-svc-dropped-params':
    'Parameters of the request that the serving backend does not take. They were left out; the list is separated by commas.',
  'x-svc-smart-route': 'The lane that svc-best chose, and why.',
  [REPLAYED_HEADER]: 'true: the answer was made for an earlier request with this Idempotency-Key, and is not charged.',
  'x-svc-quota-plan': 'The plan.',
  'x-svc-quota-used': 'Live use in the current billing window.',
  'x-svc-quota-limit': "The window's allowance.",
  'x-svc-quota-reset': 'When the window ends (ISO 8601).',
  'x-ratelimit-remaining-requests':
    'Requests left of those in any 60 seconds; the other x-ratelimit headers are named as at OpenAI.',
  'x-ratelimit-remaining-tokens': `Tokens left in the bucket of tokens per minute. ${TOKENS_PER_MINUTE}`,
  'anthropic-ratelimit-requests-remaining':
    'The same on /v1/messages, with the other anthropic-ratelimit headers of requests and tokens, as Anthropic names them.',
}
