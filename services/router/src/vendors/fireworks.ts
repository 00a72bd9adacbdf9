/** Fireworks AI. */

import { rejections } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/** `CompletionCreateParamsBase` of fw-ai-external/python-sdk (2026), which is made of its OpenAPI description. */
const CHAT = namesIn(
  'context_length_exceeded_behavior echo echo_last frequency_penalty function_call functions ignore_eos logit_bias logprobs max_completion_tokens max_tokens messages metadata min_p mirostat_lr mirostat_target model n parallel_tool_calls prediction presence_penalty prompt_truncate_len reasoning_effort repetition_penalty response_format return_token_ids seed speculation stop stream stream_options temperature tool_choice tools top_k top_logprobs top_p typical_p user',
)
/** Caches, which requests share, the deployment's own figures and names, and its model's raw words. */
const CONTROL = namesIn('perf_metrics_in_response prompt_cache_isolation_key prompt_cache_max_len raw_output')

export const fireworks = hostedVendor('fireworks', {
  // It refuses both names of the cap in one request. A stream reports its usage without `stream_options` (the same types).
  rejectedParameters: () => rejections('max_completion_tokens', 'stream_options'),
  parameters: { chat: () => CHAT, control: CONTROL },
  // The tiers of its serverless models: assumed.
  pricedOptions: { service_tier: { free: ['auto', 'default'] } },
  errors: {
    // ogx-ai/ogx#697, 2024-12-30; the rest of the sentence assumed.
    tooLong: [/prompt is too long: (?<promptTokens>\d+), model maximum context length: (?<most>\d+)/i],
  },
})
