/** OpenAI's own API. */

import { EFFORTS, type Effort } from '../core/effort.ts'
import { rejections, type ParameterSupport } from '../core/parameter-support.ts'
import { namesIn, type PricedOption } from '../core/strip-parameters.ts'
import { callId, type IdRule } from '../core/tool-calls.ts'
import { isBefore, openAiName } from './model-names.ts'
import type { VendorProfile } from './profile.ts'

/**
 * Since GPT-6 no model defaults to no thought, and a model that thinks takes no sampling:
 * developers.openai.com/api/docs/guides/deployment-checklist, November 2026.
 */
const SAMPLING_WHILE_THINKING: ParameterSupport = (
  ['temperature', 'top_p', 'logprobs', 'top_logprobs'] as const
).flatMap((parameter) => ['', ...EFFORTS.slice(1)].map((effort) => ({ parameter, effort })))
const OF_REASONERS = rejections('max_tokens')
/** The form of every model that is newer than this file, too. */
const OF_GPT_6 = [...OF_REASONERS, ...SAMPLING_WHILE_THINKING]

/** The types of `openai` 7.55 (2026): models that reason reject `max_tokens`, under every address. */
export function rejectedByName(model: string): ParameterSupport {
  const name = openAiName(model)
  if (name === null || (name.series === 'gpt' && isBefore(name.version, [5, 0]))) return []
  return isBefore(name.version, name.series === 'gpt' ? [6, 0] : [5, 0]) ? OF_REASONERS : OF_GPT_6
}

/**
 * GPT-6 Astra and 6.1 Sol call tools over the Responses API alone, and GPT-6 Sol and Luna in chat without thought alone (the
 * same page). A newer model is taken to be alike.
 */
export function callsToolsByResponses(model: string): boolean {
  const name = openAiName(model)
  return name !== null && !isBefore(name.version, name.series === 'gpt' ? [6, 0] : [5, 0])
}

const range = (from: Effort, to: Effort): readonly Effort[] =>
  EFFORTS.slice(EFFORTS.indexOf(from), EFFORTS.indexOf(to) + 1)
const NEWEST_EFFORTS: readonly Effort[] = ['none', ...range('low', 'max')]
const ALWAYS_THINKING = range('low', 'max')

/**
 * The efforts of OpenAI's models, under every address. Undefined: no model of theirs that thinks. Those of GPT-5.1 and
 * before are of learn.microsoft.com (`ReasoningEffort` of @azure/ai-projects, 2026). The later ones are of refusals that
 * list them (GPT-5.5 and GPT-6, 2026-07 to 2026-09). GPT-6 Astra and 6.1 Sol know no `none`.
 */
export function effortsByName(model: string): readonly Effort[] | undefined {
  const name = openAiName(model)
  if (name === null) return undefined
  const { series, version, variant } = name
  if (series === 'o') return isBefore(version, [5, 0]) ? range('low', 'high') : NEWEST_EFFORTS
  if (isBefore(version, [5, 0]) || variant.startsWith('-chat')) return undefined
  const isCodex = variant.startsWith('-codex')
  if (isBefore(version, [5, 1])) return isCodex ? range('low', 'high') : ofGpt5(variant)
  if (isBefore(version, [5, 2]))
    return isCodex
      ? range('low', variant.startsWith('-codex-max') ? 'xhigh' : 'high')
      : ['none', ...range('low', 'high')]
  if (isBefore(version, [5, 6])) return isCodex ? range('low', 'xhigh') : ['none', ...range('low', 'xhigh')]
  const isSol = variant.startsWith('-sol') && !isBefore(version, [6, 1])
  return isSol || variant.startsWith('-astra') ? ALWAYS_THINKING : NEWEST_EFFORTS
}

function ofGpt5(variant: string): readonly Effort[] {
  return variant.startsWith('-pro') ? ['high'] : range('minimal', 'high')
}

/** Models that encrypt their reasoning for the client. Those with `chat` in their names do not reason. */
export function reasons(model: string): boolean {
  return rejectedByName(model).length > 0 && !model.includes('-chat')
}

/** OpenAI and Azure: Portkey-AI/gateway#1062 (2025-04-24), openclaw/openclaw#875 (2026-01-13). */
export const OPENAI_IDS: IdRule = { takes: /^.{1,40}$/s, write: callId }

/** The types of `openai` 7.57 (2026): `ChatCompletionCreateParamsBase`. */
export const CHAT = namesIn(
  'audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity',
)
/** `ResponseCreateParamsBase`, without the members that need a memory of former responses. */
export const RESPONSES = namesIn(
  'background context_management include input instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user',
)
/** `EmbeddingCreateParams`. */
export const EMBEDDINGS = namesIn('dimensions encoding_format input model user')
/** `ImageGenerateParamsBase`. */
export const IMAGES = namesIn(
  'background model moderation n output_compression output_format partial_images prompt quality response_format safety_identifier size stream style user',
)

/** A prompt that is kept at the vendor may name another model and tools. The others name data of other requests. */
const CONTROL = namesIn('access_programs conversation previous_response_id prompt')

/**
 * The tiers that cost as much as a request without a tier: platform.openai.com/docs/guides/flex-processing and
 * priority-processing, 2026-11.
 */
export const TIERS: PricedOption = { free: ['auto', 'default', 'standard', 'scale'] }

export const openai: VendorProfile = {
  name: 'openai',
  authentication: {},
  // All of its chat models take `max_completion_tokens` (the types of `openai` 7.55, 2026).
  rejectedParameters: (model) => [
    ...OF_REASONERS,
    ...rejectedByName(model).filter(({ effort }) => effort !== undefined),
  ],
  efforts: effortsByName,
  callsToolsByResponses,
  parameters: { chat: () => CHAT, control: CONTROL },
  pricedOptions: { service_tier: TIERS, web_search_options: {} },
  toolCalls: { ids: OPENAI_IDS },
  messages: { order: 'any', takesReasoning: false },
  // `max_tool_calls` (the types of `openai` 7.55, 2026).
  hostedTools: ['responses'],
  // `ResponseCompactParams` and `CompactionTrigger` of the same types.
  compacts: true,
  usage: {},
  errors: {
    account: [
      // github.com/all-in-aigc/aiwallpaper/issues/2 (2024-08-01).
      { is: 'unpaid', code: 'billing_hard_limit_reached' },
      { is: 'unpaid', sentence: /^Billing hard limit has been reached\b/i },
      // With a 429: github.com/langchain-ai/langchainjs/issues/1929 (2023-07-11), github.com/continuedev/continue/issues/10835 (2026-02-25).
      { is: 'unpaid', code: 'insufficient_quota' },
    ],
    requestFaults: {
      // github.com/can1357/oh-my-pi/issues/41 (2026-02-12).
      404: [/^Item (?:with id )?'[\w-]+' not found\b/i],
    },
    // Azure's, too. The sources: `test/strict-servers.ts`.
    rejectedParameter: [
      /Unsupported parameter: '?(\w+)'?/,
      /Unsupported value: '(\w+)' does not support \S+ with this model\. Only the default/,
      /Unsupported value: 'messages\[\d+\]\.role' does not support '(developer|system)'/,
    ],
    // anomalyco/opencode#4451 and openai/openai-agents-python#2089 (2025-11), of GPT-6 in 2026-09.
    rejectedEffort: [
      /Unsupported value: '(?<value>\w+)' is not supported with the '[\w.:/-]+' model\.(?: Supported values are: (?<taken>[\w', ]+))?/,
      /Unsupported value: 'reasoning[._]effort' does not support '(?<value>\w+)'(?: with this model\. Supported values are: (?<taken>[\w', ]+))?/,
    ],
  },
}
