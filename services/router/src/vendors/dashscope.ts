/** Alibaba's DashScope, at its address that is compatible with OpenAI's. */

import { rejections } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/**
 * `packages/alibaba` of vercel/ai, February 2026, which leaves out `frequency_penalty`, and www.alibabacloud.com/help/en/model-studio: its
 * pages on thinking, vision, audio and translation (November 2026). Its list of parameters itself was not read.
 */
const CHAT = namesIn(
  'audio enable_thinking logprobs max_tokens messages modalities model n parallel_tool_calls presence_penalty preserve_thinking repetition_penalty response_format seed stop stream stream_options temperature thinking_budget tool_choice tools top_k top_logprobs top_p translation_options vl_high_resolution_images',
)

export const dashscope = hostedVendor('dashscope', {
  // haru/redmine_ai_helper#242 (2026-03-17). The cap's newer name is not in its list.
  rejectedParameters: () => rejections('max_completion_tokens', 'developer'),
  parameters: { chat: () => CHAT, control: new Set() },
  // Its searches and its interpreter, which the gateway has no price for.
  pricedOptions: { enable_search: {}, search_options: {}, enable_code_interpreter: {} },
  errors: {
    account: [
      // tencentmusic/supersonic#1572 (2024-08-16).
      { is: 'unpaid', code: 'Arrearage' },
      { is: 'unpaid', sentence: /^Access denied, please make sure your account is in good standing\b/ },
      // Elsewhere the word is of money. Here it is of tokens in a minute (www.alibabacloud.com/help/model-studio/error-code: assumed).
      { is: 'passing', code: 'insufficient_quota' },
    ],
    rejectedParameter: [/(developer|system) is not one of \[/],
    // agentscope-ai/QwenPaw#6255, 2026-07-19.
    tooLong: [/Range of input length should be \[1, \d+\]/],
    // Assumed.
    filtered: ['data_inspection_failed'],
  },
})
