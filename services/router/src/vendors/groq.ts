/** Groq. */

import { rejections } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/** The types of `groq-sdk` 1.6.0 (2026), `ChatCompletionCreateParamsBase`. */
const CHAT = namesIn(
  'citation_options disable_tool_validation documents exclude_domains frequency_penalty function_call functions include_domains include_reasoning logit_bias logprobs max_completion_tokens max_tokens messages metadata model n parallel_tool_calls presence_penalty reasoning_effort reasoning_format response_format seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user',
)

export const groq = hostedVendor('groq', {
  // A 400 to each of these, and to `n` above 1 (the same types). Those have no `stream_options`: usage comes anyway.
  rejectedParameters: () => rejections('logprobs', 'top_logprobs', 'logit_bias', 'n', 'stream_options'),
  // The same types.
  efforts: () => ['none', 'low', 'medium', 'high'],
  parameters: { chat: () => CHAT, control: new Set() },
  pricedOptions: {
    service_tier: { free: ['auto', 'on_demand'] },
    // The tools of its compound systems: assumed.
    compound_custom: {},
    search_settings: {},
  },
  // It stands there, too (packages/groq of vercel/ai, recorded 2026-02); that it may stand there alone is assumed.
  usage: { streamMember: 'x_groq' },
})
