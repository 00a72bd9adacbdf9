/** Turns an error into the HTTP response that its reader knows. */

import { CLIENT_DIALECTS } from './client-dialects.ts'
import type { BodyReader, ErrorLinks } from './error-bodies.ts'
import { ERROR_STATUS, type ErrorCode, type ErrorDetails, type PublicError } from './errors.ts'
import type { ClientDialect } from './vendors.ts'

export interface RenderedError {
  status: number
  headers: Record<string, string>
  /** JSON text. */
  body: string
}

/** Where an error goes. */
export interface ErrorReader extends BodyReader {
  dialect?: ClientDialect
}

/**
 * The HTTP response for an error, in the shape that its reader knows. `links` are the addresses that error bodies
 * carry.
 */
export function renderError(error: PublicError, links: ErrorLinks, reader: ErrorReader = {}): RenderedError {
  const { code, details } = error
  const profile = CLIENT_DIALECTS[reader.dialect ?? 'chat']
  return {
    status: (profile.showsTargetError ? details.target?.status : undefined) ?? ERROR_STATUS[code],
    headers: errorHeaders(code, details),
    body: JSON.stringify(profile.errorBody(error, links, reader)),
  }
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
