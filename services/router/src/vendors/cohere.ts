/** Cohere, at its address that is compatible with OpenAI's. */

import { rejections } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/**
 * docs.cohere.com/docs/compatibility-api, "Supported parameters", November 2026. That it takes `stream_options` and `tool_choice`
 * is assumed: neither of its two lists names them.
 */
const CHAT = namesIn(
  'frequency_penalty max_tokens messages model presence_penalty reasoning_effort response_format seed stop stream stream_options temperature tool_choice tools top_p',
)
/** The same page. */
const EMBEDDINGS = namesIn('encoding_format input model')

export const cohere = hostedVendor('cohere', {
  // "Unsupported parameters" of the same page has `n`, `logit_bias` and `parallel_tool_calls`.
  rejectedParameters: () => rejections('max_completion_tokens', 'n', 'logit_bias', 'logprobs', 'parallel_tool_calls'),
  parameters: { chat: () => CHAT, embeddings: EMBEDDINGS, control: new Set() },
  errors: {
    // Assumed.
    account: [{ is: 'credential', sentence: /^invalid api token\b/i }],
    tooLong: [/too many tokens: .*cannot exceed (?<most>\d+) - received (?<promptTokens>\d+)/],
  },
})
