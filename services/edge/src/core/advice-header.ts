/**
 * The header that warns of a request which its model may answer with nothing: a model that thinks first can use up a
 * small cap before the answer begins. The request is served as it was asked.
 */

import type { ServedModelConfig } from '@gateway/contracts/config'

export interface OutputWish {
  /** The cap that the request names. */
  outputCap?: number
  /** `chat_template_kwargs: { "enable_thinking": false }` */
  thinkingDisabled?: boolean
}

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
