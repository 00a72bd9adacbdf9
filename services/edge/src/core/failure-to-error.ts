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
      return new GatewayError('SERVICE_UNAVAILABLE', failure.message, { retryAfterMs: failure.retryAfterMs })
    default:
      // A newer router's code is no code of this edge.
      return new GatewayError('INTERNAL_ERROR', failure.message, { retryAfterMs: failure.retryAfterMs })
  }
}

/** The backend's own words about the request, from any of the usual error bodies. */
function refusalSentence(body: string | undefined): string | null {
  const said = membersOf(parse(body))
  const { error, message, detail } = said
  const sentences = [membersOf(error).message, error, message, detail]
  const sentence = sentences.find((text): text is string => typeof text === 'string' && text !== '')
  return sentence ?? listed(detail) ?? listed(membersOf(message).detail)
}

/** FastAPI's and Mistral's: `[{ loc: ['body', 'stop'], msg }]`. */
function listed(details: unknown): string | null {
  if (!Array.isArray(details)) return null
  const sentences = details.map(membersOf).flatMap(({ loc, msg }) => {
    if (!Array.isArray(loc) || typeof msg !== 'string') return []
    return [`${loc.filter((step, at) => at > 0 || step !== 'body').join('.')}: ${msg}`]
  })
  return sentences.length > 0 ? sentences.slice(0, MOST_LISTED).join('; ') : null
}

const MOST_LISTED = 5

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function parse(text: string | undefined): unknown {
  try {
    return text ? JSON.parse(text) : null
  } catch {
    return null
  }
}
