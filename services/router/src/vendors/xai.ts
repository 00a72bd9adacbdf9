/** xAI's own API. */

import { rejections, type ParameterSupport } from '../core/parameter-support.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { hostedVendor } from './hosted-vendor.ts'

/** `litellm/llms/xai` of BerriAI/litellm, November 2026; the page docs.x.ai/docs/api-reference itself was not read. */
const CHAT = namesIn(
  'frequency_penalty logit_bias logprobs max_completion_tokens max_tokens messages model n parallel_tool_calls presence_penalty reasoning_effort response_format seed stop stream stream_options temperature tool_choice tools top_logprobs top_p user',
)

/** It makes nothing of it: assumed. */
const OF_ALL = rejections('logit_bias')
/** Models that reason reject both penalties (yym68686/uni-api#105, 2025-04-24; open-webui/open-webui#21266, 2026-02-08). */
const OF_REASONERS = rejections('logit_bias', 'presence_penalty', 'frequency_penalty')

function rejectedParameters(model: string): ParameterSupport {
  return /grok-(?:3-mini|4|code-fast)/.test(model) ? OF_REASONERS : OF_ALL
}

export const xai = hostedVendor('xai', {
  rejectedParameters,
  // A response that is fetched later (docs.x.ai/developers/advanced-api-usage/deferred-chat-completions, November 2026).
  parameters: { chat: () => CHAT, control: namesIn('deferred') },
  // Which of its tiers cost the same is assumed.
  pricedOptions: { search_parameters: {}, web_search_options: {}, service_tier: { free: ['auto', 'default'] } },
  // docs.x.ai/docs/key-information/consumption-and-rate-limits, by vercel/ai#12425, 2026-02-11.
  usage: { countsReasoningInTotalAlone: true },
  errors: {
    // github.com/continuedev/continue/issues/11704 (2026-03-22), github.com/openai/codex/issues/1352 (2025-06-19).
    account: [{ is: 'credential', sentence: /^Incorrect API key provided\b/i }],
    // github.com/Wei-Shaw/sub2api/pull/5359 (2026-08-07).
    requestFaults: { 403: [/^Content violates usage guidelines\b/i] },
    rejectedParameter: [/Argument not supported on this model: (\w+)/, /Model \S+ does not support parameter (\w+)/],
    // cline/cline#3120, 2025-04-25.
    tooLong: [/maximum prompt length is (?<most>\d+) but the request contains (?<promptTokens>\d+) tokens/],
    filtered: [/^Content violates usage guidelines/],
  },
})
