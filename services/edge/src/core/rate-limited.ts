/**
 * The 429 of a limit that passes with time. Its sentence names the limit: the account's own, the key's, or the model's.
 */

import { GatewayError, type LimitScope, type RateLimitType } from '@gateway/contracts/errors'

type PassingLimit = Exclude<RateLimitType, 'plan_limit' | 'guest_mint'>

/** `model`: the served model, where the limit is one of a model. */
export function rateLimited(
  type: PassingLimit,
  retryAfterMs: number,
  scope: LimitScope = 'account',
  model?: string,
): GatewayError {
  const waitMs = Math.ceil(retryAfterMs)
  const sentence = `${sentenceOf(type, scope, model)}; try again in ${waitMs} ms`
  return new GatewayError('rate_limit_exceeded', sentence, { type, scope, retryAfterMs: waitMs })
}

function sentenceOf(type: PassingLimit, scope: LimitScope, model: string | undefined): string {
  const of = ofLimit(scope, model)
  switch (type) {
    case 'requests':
      return `Too many requests${of} in a minute`
    case 'tokens':
      return `Too many tokens${of} in a minute`
    case 'day':
      return `The day's requests${of} are used up`
    case 'pending':
      return `Running requests hold the rest of the ${scope === 'key' ? `monthly limit${of}` : 'allowance'}`
  }
}

function ofLimit(scope: LimitScope, model: string | undefined): string {
  if (scope === 'key') return ' of this key'
  return scope === 'model' ? ` of the model ${model ?? 'requested'}` : ''
}
