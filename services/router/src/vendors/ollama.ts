/** Ollama, run by the operator. */

import { namesIn } from '../core/strip-parameters.ts'
import { effortsByName } from './openai.ts'
import type { VendorProfile } from './profile.ts'
import { rejections } from '../core/parameter-support.ts'

/** github.com/ollama/ollama v0.17.4, openai/openai.go, ChatCompletionRequest. */
const CHAT = namesIn(
  'frequency_penalty logprobs max_tokens messages model presence_penalty reasoning reasoning_effort response_format seed stop stream stream_options temperature tools top_logprobs top_p',
)

export const ollama: VendorProfile = {
  name: 'ollama',
  authentication: {},
  // It ignores `max_completion_tokens` and generates on (ollama/ollama#7125, 2026-08-21, 0.32.5). It also ignores all
  // that is not in its request.
  rejectedParameters: () => rejections('max_completion_tokens', 'n', 'tool_choice'),
  efforts: effortsByName,
  parameters: { chat: () => CHAT, control: namesIn('_debug_render_only keep_alive options') },
  pricedOptions: {},
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
}
