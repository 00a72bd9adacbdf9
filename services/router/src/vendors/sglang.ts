/** SGLang, run by the operator. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

/** Written by `npm run schemas:write`: sglang==0.5.23 of PyPI, sglang/srt/entrypoints/openai/protocol.py, ChatCompletionRequest. */
const ACCEPTED = new Set(
  'bootstrap_host bootstrap_port bootstrap_room cache_salt chat_template_kwargs continue_final_message custom_logit_processor custom_params data_parallel_rank disagg_prefill_dp_rank ebnf extra_key frequency_penalty ignore_eos images_config input_ids logit_bias logprobs lora_path max_completion_tokens max_dynamic_patch max_tokens messages min_dynamic_patch min_p min_tokens mm_processor_kwargs model n no_stop_trim parallel_tool_calls presence_penalty priority reasoning_effort regex repetition_penalty response_format return_cached_tokens_details return_flat_raw_output_top_logprobs return_flat_raw_top_logprobs_b64 return_hidden_states return_input_ids_in_sglext return_meta_info return_output_ids_in_sglext return_prompt_token_ids return_routed_experts return_sampling_mask return_spec_tokens_details return_token_ids rid routed_dp_rank routed_experts_start_len sampling_logprobs_mode seed separate_reasoning session_id session_params skip_special_tokens stop stop_regex stop_token_ids stream stream_options stream_reasoning task temperature thinking tool_choice tools top_k top_logprobs top_p use_audio_in_video user video_config watermark'.split(
    ' ',
  ),
)

export const sglang: VendorProfile = {
  name: 'sglang',
  authentication: {},
  rejectedParameters: rejectedByName,
  acceptedParameters: () => ACCEPTED,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
}
