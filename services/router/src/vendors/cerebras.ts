/** Cerebras. */

import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/** The types of `@cerebras/cerebras_cloud_sdk` 1.91.0 (2026), `ChatCompletionCreateParamsBase`. */
const CHAT = namesIn(
  'clear_thinking disable_reasoning frequency_penalty logit_bias logprobs max_completion_tokens max_tokens messages min_completion_tokens min_tokens model n parallel_tool_calls prediction presence_penalty prompt_cache_key reasoning_effort reasoning_format response_format seed service_tier stop stream stream_options temperature tool_choice tools top_logprobs top_p user',
)

/** Headers, which its types list beside the members. */
const HEADERS = namesIn('CF-RAY X-Amz-Cf-Id X-delay-time')

export const cerebras = hostedVendor('cerebras', {
  // The same types.
  efforts: () => ['none', 'low', 'medium', 'high'],
  // The effect that a model gives to parameters of its own is not published.
  parameters: { chat: () => CHAT, control: namesIn('model_parameters'), unrelated: HEADERS },
  // Which of its tiers cost the same is assumed.
  pricedOptions: { service_tier: { free: ['auto', 'default'] } },
  errors: {
    // Assumed.
    account: [{ is: 'credential', code: 'wrong_api_key' }],
    // cline/cline#5140, 2025-07-24.
    tooLong: [/Current length is (?<promptTokens>\d+) while limit is (?<most>\d+)/],
  },
})
