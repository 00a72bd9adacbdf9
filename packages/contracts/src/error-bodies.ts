/**
 * The parts of error bodies that several dialects share. Each dialect's own body stands in its profile, below
 * `client-dialects/`.
 */

import { topUpAddress } from './top-ups.ts'
import { ERROR_STATUS, type ErrorCode, type ErrorDetails, type LimitScope, type PublicError } from './errors.ts'

export interface ErrorLinks {
  docsUrl: string
  topupUrl: string
}

/** Where an error goes. */
export interface BodyReader {
  /** chat: the client reads no flat body. */
  isNested?: boolean
  requestId?: string
}

/** A code's additions to a body, under their names in JSON. */
export function additions({ code, details }: PublicError, links: ErrorLinks): object {
  switch (code) {
    case 'rate_limit_exceeded':
      return { ...scopeOf(details), retry_after_ms: Math.ceil(details.retryAfterMs ?? 0), docs: links.docsUrl }
    case 'quota_exceeded':
      return {
        ...scopeOf(details),
        resetDate: details.resetDate ?? '',
        topupUrl: topUpAddress(links.topupUrl, details.project),
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

function scopeOf({ scope }: ErrorDetails): { scope?: LimitScope } {
  return scope === undefined ? {} : { scope }
}

/** Bodies whose `error` the contract fixes to the word; the thrown message is ignored. */
const FIXED_MESSAGE: Partial<Record<ErrorCode, string>> = {
  NO_AUTH: 'Unauthorized',
  INVALID_KEY: 'Invalid key',
  INVALID_TOKEN: 'Invalid token format',
}

export function messageOf({ code, message }: PublicError): string {
  return FIXED_MESSAGE[code] ?? message
}

/** OpenAI's shape, which the Responses API has for every error. */
export function openAiErrorBody(error: PublicError, links: ErrorLinks): object {
  const { code, details } = error
  if (details.refusal) return { error: { message: error.message, ...details.refusal, gateway_code: code } }
  const type = details.type ?? (ERROR_STATUS[code] >= 500 ? 'server_error' : 'invalid_request_error')
  return { error: { message: messageOf(error), type, param: details.param ?? null, code, ...additions(error, links) } }
}
