/** Hugging Face's router of inference providers. */

import { rejections } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/** The types of `@huggingface/tasks` 0.21.54 (2026), `ChatCompletionInput`. */
const CHAT = namesIn(
  'frequency_penalty logit_bias logprobs max_tokens messages model n presence_penalty reasoning_effort response_format seed stop stream stream_options temperature tool_choice tool_prompt tools top_logprobs top_p',
)

export const huggingface = hostedVendor('huggingface', {
  // Unused, by the same types; those do not know `max_completion_tokens`.
  rejectedParameters: () => rejections('max_completion_tokens', 'n', 'logit_bias', 'developer'),
  parameters: { chat: () => CHAT, control: new Set() },
  errors: {
    account: [
      // huggingface/agents-course#386 (2025-03-29).
      { is: 'unpaid', sentence: /^You have exceeded your monthly included credits\b/ },
      // Assumed.
      { is: 'no_model', code: 'model_not_supported' },
    ],
  },
})
