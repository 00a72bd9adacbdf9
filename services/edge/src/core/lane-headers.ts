/**
 * The headers that tell a client of the lane that answers: which one Auto chose, what the request may lack, and when the
 * model ends.
 */

import type { ModelConfig, ServedModelConfig } from '@gateway/contracts/config'

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

export interface OutputWish {
  /** The cap that the request names. */
  outputCap?: number
  /** `chat_template_kwargs: { "enable_thinking": false }` */
  thinkingDisabled?: boolean
}

/** Warns of a cap that a model which thinks first may use up before its answer. The request is served as it was asked. */
export function adviceHeader(
  { advisedMinOutputTokens: advised }: Pick<ServedModelConfig, 'advisedMinOutputTokens'>,
  asked: OutputWish & { model: string },
): Record<string, string> {
  const { outputCap, thinkingDisabled, model } = asked
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
