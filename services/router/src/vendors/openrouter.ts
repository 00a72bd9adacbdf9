/** OpenRouter, an aggregator of vendors. */

import { EFFORTS } from '../core/effort.ts'
import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import { rejections } from '../core/parameter-support.ts'
import { rejectedByName, TIERS } from './openai.ts'

/**
 * `@openrouter/sdk` 1.3.19 (2026), `ChatRequest`; `include_reasoning`, `structured_outputs`, `usage` and `verbosity` by
 * openrouter.ai/docs/api/reference/parameters, read in November 2026.
 */
const CHAT = namesIn(
  'cache_control frequency_penalty image_config include_reasoning logit_bias logprobs max_completion_tokens max_tokens messages metadata min_p modalities model parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options reasoning reasoning_effort repetition_penalty response_format seed service_tier stop stream stream_options structured_outputs temperature tool_choice tools top_a top_k top_logprobs top_p usage user verbosity',
)
/** Sessions and traces are the operator's account's, and so are responses that show how a request was sent on. */
const CONTROL = namesIn('debug session_id stop_server_tools_when trace')

export const openrouter: VendorProfile = {
  name: 'openrouter',
  authentication: {},
  // Its SDK's request has no `n` (`@openrouter/sdk` 1.3.19, 2026); that it returns one choice then is assumed.
  rejectedParameters: (model) => [...rejectedByName(model), ...rejections('n')],
  // openrouter.ai/docs/guides/best-practices/reasoning-tokens, by enricoros/big-AGI#940 (2026-01): for every model.
  efforts: () => EFFORTS.filter((effort) => effort !== 'max'),
  parameters: { chat: () => CHAT, control: CONTROL },
  pricedOptions: {
    service_tier: TIERS,
    // They send the request on to another model or vendor, whose price is another one.
    models: {},
    route: {},
    provider: {},
    preset: {},
    // They run at a price of their own.
    plugins: {},
    web_search_options: {},
    transforms: {},
  },
  toolCalls: {},
  // openrouter.ai/docs/use-cases/reasoning-tokens, read in November 2026: the whole list goes back, in its order.
  reasoningState: 'details',
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
  errors: {
    // github.com/OpenRouterTeam/openrouter-examples/issues/74 (2026-05-06).
    account: [{ is: 'no_model', sentence: /^\S+ is not a valid model ID$/ }],
    requestFaults: {
      // github.com/OpenRouterTeam/ai-sdk-provider/issues/451 (2026-04-03), JohnnyZ93/oai-compatible-copilot#229 (2026-05-08).
      404: [/^No endpoints found that (?:support|can handle)\b/i],
    },
    filtered: [/^Input was flagged/],
  },
  // openrouter.ai/docs/api-reference/streaming, read in November 2026.
  finishReasons: { error: 'failure' },
}
