/** SGLang, run by the operator. */

import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import { effortsByName, rejectedByName } from './openai.ts'

/** sglang 0.5.23 of PyPI (November 2026), sglang/srt/entrypoints/openai/protocol.py. */
const CHAT = namesIn(
  'chat_template_kwargs continue_final_message ebnf frequency_penalty ignore_eos logit_bias logprobs max_completion_tokens max_dynamic_patch max_tokens messages min_dynamic_patch min_p min_tokens model n no_stop_trim parallel_tool_calls presence_penalty reasoning_effort regex repetition_penalty response_format return_cached_tokens_details return_flat_raw_output_top_logprobs return_flat_raw_top_logprobs_b64 return_input_ids_in_sglext return_meta_info return_output_ids_in_sglext return_prompt_token_ids return_sampling_mask return_spec_tokens_details return_token_ids sampling_logprobs_mode seed separate_reasoning skip_special_tokens stop stop_token_ids stream stream_options stream_reasoning temperature thinking tool_choice tools top_k top_logprobs top_p use_audio_in_video user',
)
/**
 * Hosts and ports of other engines, code, adapters, keys of caches and sessions, and the prompt's own tokens. Others
 * set the order of requests, expressions that the scheduler runs, and state that an engine keeps for all.
 */
const CONTROL = namesIn(
  'bootstrap_host bootstrap_port bootstrap_room cache_salt custom_logit_processor custom_params data_parallel_rank disagg_prefill_dp_rank extra_key images_config input_ids lora_path mm_processor_kwargs priority return_hidden_states return_routed_experts rid routed_dp_rank routed_experts_start_len session_id session_params stop_regex task video_config watermark',
)

export const sglang: VendorProfile = {
  name: 'sglang',
  authentication: {},
  rejectedParameters: rejectedByName,
  efforts: effortsByName,
  parameters: { chat: () => CHAT, control: CONTROL },
  pricedOptions: {},
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
  // sglang 0.5.23 of PyPI (November 2026): an engine that stops.
  finishReasons: { abort: 'failure' },
}
