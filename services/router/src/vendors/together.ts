/** Together AI. */

import { rejections } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/** The types of `together-ai` 0.52.0 (2026), `CompletionCreateParamsBase`. */
const CHAT = namesIn(
  'chat_template_kwargs context_length_exceeded_behavior echo frequency_penalty function_call logit_bias logprobs max_tokens messages min_p model n presence_penalty reasoning reasoning_effort repetition_penalty response_format seed stop stream stream_options temperature tool_choice tools top_k top_p',
)

export const together = hostedVendor('together', {
  // Its `logprobs` is a number, not OpenAI's yes or no. The same types know neither the others nor the role; a stream reports its usage anyway.
  rejectedParameters: () => rejections('max_completion_tokens', 'logprobs', 'developer', 'stream_options'),
  // The same types.
  efforts: () => ['low', 'medium', 'high'],
  parameters: { chat: () => CHAT, control: namesIn('compliance') },
  // Another model judges the request.
  pricedOptions: { safety_model: {} },
  messages: { order: 'alternating', takesReasoning: false },
  errors: {
    // Assumed.
    account: [{ is: 'no_model', code: 'model_not_available' }],
    requestFaults: {
      // docs.together.ai/docs/error-codes, November 2026.
      403: [/\bmust be less than the context length\b/i],
    },
    // bytedance/UI-TARS-desktop#626, 2025-05-25: TGI's words, which Together and Hugging Face pass on.
    tooLong: [/tokens \+ `max_new_tokens`\s+must be <= (?<most>\d+)\. Given: (?<promptTokens>\d+)/],
  },
})
