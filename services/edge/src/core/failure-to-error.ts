/**
 * What a client is told of a router's failure frame.
 */

import { GatewayError } from '@gateway/contracts/errors'
import type { AnswerFailure } from '@gateway/contracts/job'

export function failureToError(failure: AnswerFailure, lane: string): GatewayError {
  switch (failure.code) {
    case 'UPSTREAMS_EXHAUSTED':
      return new GatewayError('UPSTREAMS_EXHAUSTED', 'All inference backends are unavailable; try again with backoff', {
        tier: lane,
        attempted: failure.attempted,
      })
    case 'BACKEND_REFUSED':
      return new GatewayError('VALIDATION_ERROR', refusalSentence(failure.backendBody) ?? failure.message)
    case 'SERVICE_UNAVAILABLE':
    case 'INTERNAL_ERROR':
      return new GatewayError(failure.code, failure.message, { retryAfterMs: failure.retryAfterMs })
  }
}

/** The backend's own words about the request, from either of the usual error bodies. */
function refusalSentence(body: string | undefined): string | null {
  if (!body) return null
  try {
    const parsed = JSON.parse(body) as { error?: unknown; message?: unknown }
    const error = parsed.error
    if (typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string') {
      return error.message
    }
    if (typeof error === 'string') return error
    return typeof parsed.message === 'string' ? parsed.message : null
  } catch {
    return null
  }
}
