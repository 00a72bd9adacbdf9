/** DeepSeek's own API. */

import { rejections, type ParameterSupport } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/** api-docs.deepseek.com/api/create-chat-completion, as the crate `deepseek-sdk` 0.4.0 (2026) has it. */
const CHAT = namesIn(
  'frequency_penalty logprobs max_tokens messages model presence_penalty reasoning_effort response_format stop stream stream_options temperature thinking tool_choice tools top_logprobs top_p',
)

/** It ignores members outside its list, and knows no role `developer` (num-scope/pix#34, 2026-08-17). */
const OF_ALL = rejections('max_completion_tokens', 'developer', 'n')

/**
 * Models that always think have no sampling: they ignore these, and reject log probabilities
 * (api-docs.deepseek.com/zh-cn/guides/reasoning_model, November 2026).
 */
const OF_REASONERS = rejections('temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logprobs')

function rejectedParameters(model: string): ParameterSupport {
  return model.includes('reasoner') ? [...OF_ALL, ...OF_REASONERS] : OF_ALL
}

export const deepseek = hostedVendor('deepseek', {
  rejectedParameters,
  // A cache of its own for each user's name, which the operator gives.
  parameters: { chat: () => CHAT, control: namesIn('user_id') },
  // It demands them before tool calls (QuantumNous/new-api#4806, 2026-05-12).
  messages: { order: 'alternating', takesReasoning: true },
  errors: {
    account: [
      // With a 400, as some gateways report it (Aider-AI/aider#4851, 2026-02-19).
      { is: 'unpaid', sentence: /^Insufficient Balance\b/ },
      // Assumed.
      { is: 'no_model', sentence: /^Model Not Exist\b/ },
    ],
    rejectedParameter: [
      /Failed to deserialize the JSON body into the target type: messages\[\d+\]\.role: unknown variant `(developer|system)`/,
    ],
    // Assumed.
    filtered: [/^Content Exists Risk\b/],
  },
  // An interrupted response (tetsuo-ai/agenc-core#2492, 2026-09-14).
  finishReasons: { insufficient_system_resource: 'failure' },
})
