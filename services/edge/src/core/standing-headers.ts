/**
 * The headers that tell a client where it stands: the contract's `x-svc-quota-*`, and the limits as OpenAI and Anthropic
 * name them.
 */

import type { Standing } from '@gateway/admission/port'
import type { PlanUnit } from '@gateway/contracts/usage'
import { writeInPlanUnit } from '@gateway/pricing/units'

/** `spent` is what the answering request itself has cost, where that is known already. */
export function quotaHeaders(
  standing: Pick<Standing, 'plan' | 'used' | 'limit' | 'windowResetAtMs'>,
  unit: PlanUnit,
  spent = 0,
): Record<string, string> {
  return {
    'x-svc-quota-plan': standing.plan,
    'x-svc-quota-used': writeInPlanUnit(standing.used + spent, unit),
    'x-svc-quota-limit': writeInPlanUnit(standing.limit, unit),
    'x-svc-quota-reset': new Date(standing.windowResetAtMs).toISOString(),
  }
}

/** `anthropic-ratelimit-*`, for clients of the Messages API. */
export function anthropicLimitHeaders({ requests, tokens, nowMs }: Standing): Record<string, string> {
  const resetAt = (resetMs: number): string => new Date(nowMs + Math.max(0, Math.ceil(resetMs))).toISOString()
  return {
    'anthropic-ratelimit-requests-limit': String(requests.limit),
    'anthropic-ratelimit-requests-remaining': String(requests.remaining),
    'anthropic-ratelimit-requests-reset': resetAt(requests.resetMs),
    'anthropic-ratelimit-tokens-limit': String(tokens.limit),
    'anthropic-ratelimit-tokens-remaining': String(Math.max(0, Math.floor(tokens.remaining))),
    'anthropic-ratelimit-tokens-reset': resetAt(tokens.resetMs),
  }
}

export function standingHeaders(standing: Standing, unit: PlanUnit, spent = 0): Record<string, string> {
  return {
    ...quotaHeaders(standing, unit, spent),
    'x-ratelimit-limit-requests': String(standing.requests.limit),
    'x-ratelimit-remaining-requests': String(standing.requests.remaining),
    'x-ratelimit-reset-requests': duration(standing.requests.resetMs),
    'x-ratelimit-limit-tokens': String(standing.tokens.limit),
    'x-ratelimit-remaining-tokens': String(Math.max(0, Math.floor(standing.tokens.remaining))),
    'x-ratelimit-reset-tokens': duration(standing.tokens.resetMs),
  }
}

/** `120ms`, `1.5s`, `6m0s`: the notation that OpenAI's clients know. */
function duration(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms))
  if (whole < 1000) return `${whole}ms`
  if (whole < 60_000) return `${whole / 1000}s`
  const seconds = Math.ceil(whole / 1000)
  return `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

const OF_THE_MOMENT = ['x-svc-quota-', 'x-ratelimit-', 'anthropic-ratelimit-']

/** Of an answer's headers, those that stay true when it is given again: all but where the account stood then. */
export function lastingHeaders(headers: Record<string, string>): Record<string, string> {
  const lasting = Object.entries(headers).filter(([name]) => !OF_THE_MOMENT.some((prefix) => name.startsWith(prefix)))
  return Object.fromEntries(lasting)
}
