/**
 * The 429 of a limit that passes with time.
 */

import { GatewayError, type RateLimitType } from '@gateway/contracts/errors'

const LIMIT_SENTENCES = {
  requests: 'Too many requests in a minute',
  tokens: 'Too many tokens in a minute',
  day: "The day's requests are used up",
  pending: 'Running requests hold the rest of the allowance',
} as const satisfies Partial<Record<RateLimitType, string>>

export function rateLimited(type: keyof typeof LIMIT_SENTENCES, retryAfterMs: number): GatewayError {
  const waitMs = Math.ceil(retryAfterMs)
  return new GatewayError('rate_limit_exceeded', `${LIMIT_SENTENCES[type]}; try again in ${waitMs} ms`, {
    type,
    retryAfterMs: waitMs,
  })
}
