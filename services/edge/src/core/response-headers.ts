/**
 * The headers beside a response. Some describe the lane that serves: Auto's choice, the needs that the request may lack, and
 * the end of the model. The others describe the account's quota status: the contract's `x-svc-quota-*`, and the limits as
 * OpenAI and Anthropic name them.
 */

import type { QuotaStatus } from '@gateway/admission/port'
import type { ModelConfig, ServedModelConfig } from '@gateway/contracts/config'
import type { PlanUnit } from '@gateway/contracts/usage'
import { writeInPlanUnit } from '@gateway/pricing/charge'

export interface SmartRoute {
  laneId: string
  reason: string
  confidence?: number
}

/**
 * `svc-research; reason=time-sensitive; confidence=0.83`: the lane that Auto chose, why, and how sure it is. Readers of
 * the first two parts need not know the third, which is left out where Auto had no say.
 */
export function smartRouteHeader({ laneId, reason, confidence }: SmartRoute): string {
  const why = `${laneId}; reason=${reason}`
  return confidence === undefined ? why : `${why}; confidence=${confidence.toFixed(2)}`
}

export interface OutputRequest {
  /** The cap that the request names. */
  outputCap?: number
  /** `chat_template_kwargs: { "enable_thinking": false }` */
  thinkingDisabled?: boolean
}

/** Warns of a cap that a model which thinks first may use up before its response. The request is served unchanged. */
export function adviceHeader(
  { advisedMinOutputTokens: advised }: Pick<ServedModelConfig, 'advisedMinOutputTokens'>,
  inference: OutputRequest & { model: string },
): Record<string, string> {
  const { outputCap, thinkingDisabled, model } = inference
  if (advised === undefined || outputCap === undefined || outputCap >= advised || thinkingDisabled) return {}
  return {
    'x-svc-warning':
      `${model} may use up max_tokens (${outputCap}) by thinking and leave the answer empty; ` +
      `allow at least ${advised}, or send chat_template_kwargs {"enable_thinking": false}`,
  }
}

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and a link to the model's replacement. */
export function noticeHeaders({ deprecatedAt, sunsetAt, replacement }: ModelConfig): Record<string, string> {
  const headers: Record<string, string> = {}
  if (deprecatedAt) headers['deprecation'] = `@${Date.parse(deprecatedAt) / 1000}`
  if (sunsetAt) headers['sunset'] = new Date(sunsetAt).toUTCString()
  if (deprecatedAt && replacement) {
    headers['link'] = `</v1/models/${encodeURIComponent(replacement)}>; rel="successor-version"`
  }
  return headers
}

/** `spent` is the cost of this request itself, where it is known already. */
export function quotaHeaders(
  quotaStatus: Pick<QuotaStatus, 'plan' | 'used' | 'limit' | 'windowResetAtMs'>,
  unit: PlanUnit,
  spent = 0,
): Record<string, string> {
  return {
    'x-svc-quota-plan': quotaStatus.plan,
    'x-svc-quota-used': writeInPlanUnit(quotaStatus.used + spent, unit),
    'x-svc-quota-limit': writeInPlanUnit(quotaStatus.limit, unit),
    'x-svc-quota-reset': new Date(quotaStatus.windowResetAtMs).toISOString(),
  }
}

/** `anthropic-ratelimit-*`, for clients of the Messages API. */
export function anthropicLimitHeaders({ requests, tokens, nowMs }: QuotaStatus): Record<string, string> {
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

export function quotaStatusHeaders(quotaStatus: QuotaStatus, unit: PlanUnit, spent = 0): Record<string, string> {
  return {
    ...quotaHeaders(quotaStatus, unit, spent),
    'x-ratelimit-limit-requests': String(quotaStatus.requests.limit),
    'x-ratelimit-remaining-requests': String(quotaStatus.requests.remaining),
    'x-ratelimit-reset-requests': duration(quotaStatus.requests.resetMs),
    'x-ratelimit-limit-tokens': String(quotaStatus.tokens.limit),
    'x-ratelimit-remaining-tokens': String(Math.max(0, Math.floor(quotaStatus.tokens.remaining))),
    'x-ratelimit-reset-tokens': duration(quotaStatus.tokens.resetMs),
  }
}

/** `120ms`, `1.5s`, `6m0s`: the notation that OpenAI's clients know. */
function duration(ms: number): string {
  const roundedMs = Math.max(0, Math.ceil(ms))
  if (roundedMs < 1000) return `${roundedMs}ms`
  if (roundedMs < 60_000) return `${roundedMs / 1000}s`
  const seconds = Math.ceil(roundedMs / 1000)
  return `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

const OF_THE_MOMENT = ['x-svc-quota-', 'x-ratelimit-', 'anthropic-ratelimit-']

/** Returns those headers that stay true when the response is replayed: all but the account's quota status at that moment. */
export function lastingHeaders(headers: Record<string, string>): Record<string, string> {
  const lasting = Object.entries(headers).filter(([name]) => !OF_THE_MOMENT.some((prefix) => name.startsWith(prefix)))
  return Object.fromEntries(lasting)
}
