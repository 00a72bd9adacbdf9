/** OpenAI's own API. */

import { rejections, type ParameterSupport } from '../core/parameter-support.ts'
import { namesIn, type PricedOption } from '../core/strip-parameters.ts'
import { callId, type IdRule } from '../core/tool-calls.ts'
import type { VendorProfile } from './profile.ts'

/** The types of `openai` 7.55 (2026): models that reason reject `max_tokens`, under every address. */
export function rejectedByName(model: string): ParameterSupport {
  return /^(?:openai[/.])?(?:gpt-(?:[5-9]|1\d)|o\d)(?![\da-z])/i.test(model) ? rejections('max_tokens') : []
}

/** Models that encrypt their reasoning for the client. Those with `chat` in their names do not reason. */
export function reasons(model: string): boolean {
  return rejectedByName(model).length > 0 && !model.includes('-chat')
}

/** OpenAI and Azure: Portkey-AI/gateway#1062 (2025-04-24), openclaw/openclaw#875 (2026-01-13). */
export const OPENAI_IDS: IdRule = { takes: /^.{1,40}$/s, write: callId }

/** The types of `openai` 7.57 (2026): `ChatCompletionCreateParamsBase`. */
export const CHAT = namesIn(
  'audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity',
)
/** `ResponseCreateParamsBase`, without the members that need a memory of former responses. */
export const RESPONSES = namesIn(
  'background context_management include input instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user',
)
/** `EmbeddingCreateParams`. */
export const EMBEDDINGS = namesIn('dimensions encoding_format input model user')
/** `ImageGenerateParamsBase`. */
export const IMAGES = namesIn(
  'background model moderation n output_compression output_format partial_images prompt quality response_format safety_identifier size stream style user',
)

/** A prompt that is kept at the vendor may name another model and tools. The others name data of other requests. */
const CONTROL = namesIn('access_programs conversation previous_response_id prompt')

/**
 * The tiers that cost as much as a request without a tier: platform.openai.com/docs/guides/flex-processing and
 * priority-processing, 2026-11.
 */
export const TIERS: PricedOption = { free: ['auto', 'default', 'standard', 'scale'] }

export const openai: VendorProfile = {
  name: 'openai',
  authentication: {},
  // All of its chat models take `max_completion_tokens` (the types of `openai` 7.55, 2026).
  rejectedParameters: () => rejections('max_tokens'),
  parameters: { chat: () => CHAT, control: CONTROL },
  pricedOptions: { service_tier: TIERS, web_search_options: {} },
  toolCalls: { ids: OPENAI_IDS },
  messages: { order: 'any', takesReasoning: false },
  // `max_tool_calls` (the types of `openai` 7.55, 2026).
  hostedTools: ['responses'],
  usage: {},
  errors: {
    account: [
      // github.com/all-in-aigc/aiwallpaper/issues/2 (2024-08-01).
      { is: 'unpaid', code: 'billing_hard_limit_reached' },
      { is: 'unpaid', sentence: /^Billing hard limit has been reached\b/i },
      // With a 429: github.com/langchain-ai/langchainjs/issues/1929 (2023-07-11), github.com/continuedev/continue/issues/10835 (2026-02-25).
      { is: 'unpaid', code: 'insufficient_quota' },
    ],
    requestFaults: {
      // github.com/can1357/oh-my-pi/issues/41 (2026-02-12).
      404: [/^Item (?:with id )?'[\w-]+' not found\b/i],
    },
    // Azure's, too. The sources: `test/strict-servers.ts`.
    rejectedParameter: [
      /Unsupported parameter: '?(\w+)'?/,
      /Unsupported value: '(\w+)' does not support \S+ with this model\. Only the default/,
      /Unsupported value: 'messages\[\d+\]\.role' does not support '(developer|system)'/,
    ],
  },
}
