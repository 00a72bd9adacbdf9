/**
 * Perplexity's Sonar models, which search before they respond. Perplexity has announced their end for 2026-09-27 (the
 * page about its provider of maximhq/bifrost); its SDK still has them in November 2026.
 */

import { rejections } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/** The types of `@perplexity-ai/perplexity_ai` 0.38.5 (2026), `CompletionCreateParamsBase`. */
const CHAT = namesIn(
  'country disable_search enable_search_classifier frequency_penalty image_domain_filter image_format_filter language_preference last_updated_after_filter last_updated_before_filter latitude logprobs longitude max_tokens messages model n num_images num_search_results parallel_tool_calls presence_penalty reasoning_effort response_format response_formatting_locale return_images return_related_questions safe_search search_after_date_filter search_before_date_filter search_domain_filter search_language_filter search_mode search_recency_filter stop stream stream_options temperature tool_choice tools top_k top_logprobs top_p updated_after_timestamp updated_before_timestamp',
)

/**
 * Threads, files and searches of others, other models that rank, the stream's form, and parameters of the vendor's own
 * page.
 */
const CONTROL = namesIn(
  '_debug_pro_search _force_new_agent _inputs _prompt_token_length best_of cum_logprobs diverse_first_token file_workspace_id has_image_url ranking_model response_metadata search_internal_properties search_tenant stream_mode thread_id use_threads user_original_query',
)

export const perplexity = hostedVendor('perplexity', {
  // The same types know none of these, and every chunk reports the usage.
  rejectedParameters: () => rejections('max_completion_tokens', 'developer', 'stream_options'),
  // The same types.
  efforts: () => ['minimal', 'low', 'medium', 'high'],
  parameters: { chat: () => CHAT, control: CONTROL },
  // The size of a search's context and its kind have prices of their own (the same types).
  pricedOptions: { web_search_options: {} },
  // perplexityai/api-discussion#265 (2025-04-01), iamsrikanthnani/pluely#71 (2025-09-23).
  messages: { order: 'alternating', takesReasoning: false, takesUserAfterTool: false },
  errors: {
    // ELPROFUG0/TexTab#2 (2026-02-14), lobehub/lobehub#3280 (2024-07-21).
    account: [{ is: 'no_model', code: 'invalid_model' }],
  },
})
