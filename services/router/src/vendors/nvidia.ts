/** NVIDIA's hosted NIM. Its containers are an operator's own vLLM or SGLang (docs.nvidia.com/nim/large-language-models/2.1.6). */

import { rejections } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/**
 * `litellm/llms/nvidia_nim` of BerriAI/litellm, and the members of vLLM that docs.nvidia.com/nim/large-language-models/2.1.6 promises
 * (November 2026): which of those the hosted service takes is assumed. Models differ, and the router learns the rest.
 */
const CHAT = namesIn(
  'chat_template_kwargs frequency_penalty logit_bias logprobs max_tokens messages model n parallel_tool_calls presence_penalty reasoning_effort response_format seed stop stream stream_options temperature tool_choice tools top_k top_logprobs top_p user',
)

export const nvidia = hostedVendor('nvidia', {
  // It knows `max_tokens` alone (litellm/llms/nvidia_nim of BerriAI/litellm, November 2026), and four roles.
  rejectedParameters: () => rejections('max_completion_tokens', 'developer'),
  // Its extensions hold the parameters of an engine of its own: other decoders, and other nodes.
  parameters: { chat: () => CHAT, control: namesIn('nvext') },
  messages: { order: 'alternating', takesReasoning: true },
})
