/** Mistral's own API. */

import { rejections } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/** The types of `@mistralai/mistralai` 2.7.0 (2026), `ChatCompletionRequest`. Its server refuses every other member. */
const CHAT = namesIn(
  'frequency_penalty max_tokens messages metadata model n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_mode random_seed reasoning_effort response_format safe_prompt service_tier stop stream stream_options temperature tool_choice tools top_p',
)
/** `EmbeddingRequest` of the same version. */
const EMBEDDINGS = namesIn('encoding_format input metadata model output_dimension output_dtype')

export const mistral = hostedVendor('mistral', {
  // It rejects `max_completion_tokens` (editor-code-assistant/eca#231, 2025-12-12), and its types have no `stream_options`: a stream's
  // last chunk reports the usage anyway (packages/mistral of vercel/ai, recorded 2026-08).
  rejectedParameters: () => rejections('max_completion_tokens', 'stream_options', 'developer'),
  parameters: {
    chat: () => CHAT,
    embeddings: EMBEDDINGS,
    // Moderation is the operator's account's.
    control: namesIn('guardrails'),
  },
  // Its responses name the tier `standard` (packages/mistral of vercel/ai, recorded 2026-08).
  pricedOptions: { service_tier: { free: ['auto', 'default', 'standard'] } },
  // anomalyco/opencode#1680 (2025-08-07), nearai/ironclaw#1241 (2026-03-16).
  toolCalls: { ids: { takes: /^[A-Za-z0-9]{9}$/, write: (digest) => digest.slice(0, 9) } },
  // BerriAI/litellm#17761 (2025-12-10), onyx-dot-app/onyx#6458 (2025-11-26).
  messages: { order: 'alternating', takesReasoning: false, takesUserAfterTool: false },
  errors: {
    // Both assumed.
    account: [{ is: 'no_model', code: 'invalid_model' }],
    tooLong: [/contains (?<promptTokens>\d+) tokens.*model with (?<most>\d+) maximum context length/],
  },
  // The window is full (the types of `@mistralai/mistralai`, 2026).
  finishReasons: { model_length: 'length' },
})
