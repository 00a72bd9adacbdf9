/** Google's Gemini API, at its address that is compatible with OpenAI's. */

import { CHAT, rejectedByName, TIERS } from './openai.ts'
import { EFFORTS, type Effort } from '../core/effort.ts'
import { namesIn } from '../core/strip-parameters.ts'
import { geminiName, isBefore } from './model-names.ts'
import type { VendorProfile } from './profile.ts'

/**
 * Gemini 3 and later reject a call without its signature, and no client but Google's own sends one back. A name without a
 * number that ends in `latest` is the newest model's.
 */
export function needsSignature(model: string): boolean {
  const name = geminiName(model)
  if (name === null) return false
  return name.version === null ? name.variant.endsWith('-latest') : !isBefore(name.version, [3, 0])
}

const [NONE, MINIMAL, ...REST] = EFFORTS
/** Every model takes these. Google's address refuses the others before a model sees them (2026). */
const ALL: readonly Effort[] = REST.slice(0, 3)
const FROM_NONE: readonly Effort[] = [NONE, MINIMAL, ...ALL]

/**
 * The efforts of Google's models at its address that is compatible with OpenAI's, which it writes as thinking levels or
 * budgets: ai.google.dev/gemini-api/docs/openai, November 2026. Pro models always think. Gemini 3.7 Flash and later take
 * no `minimal` (agentjido/req_llm#971, 2026-08-23). A model that is newer than this file is taken to be as strict.
 */
export function geminiEfforts(model: string): readonly Effort[] | undefined {
  const name = geminiName(model)
  if (name === null) return undefined
  const { version, variant } = name
  if (version === null || !isBefore(version, [3, 7]) || variant.startsWith('-pro')) return ALL
  return FROM_NONE
}

/** Google's own members stand below `extra_body.google`: ai.google.dev/gemini-api/docs/openai, read in November 2026. */
const GEMINI_CHAT = new Set([...CHAT, 'extra_body'])
export const GOOGLE_NESTED = {
  extra_body: namesIn('google'),
  'extra_body.google': namesIn('safety_settings thinking_config thought_tag_marker'),
}
/** A cache of Google's has a name, and everyone who knows the name reads the cache. */
export const GOOGLE_CONTROL = namesIn('cached_content')

/** Google's own words, which its compatible addresses may pass on: HKUDS/Vibe-Trading#308 (2026-06-25). */
export const GOOGLE_FINISH_REASONS = {
  safety: 'content_filter',
  recitation: 'content_filter',
  blocklist: 'content_filter',
  prohibited_content: 'content_filter',
  spii: 'content_filter',
  image_safety: 'content_filter',
} as const

export const gemini: VendorProfile = {
  name: 'gemini',
  authentication: {},
  rejectedParameters: rejectedByName,
  efforts: geminiEfforts,
  parameters: {
    chat: () => GEMINI_CHAT,
    nested: GOOGLE_NESTED,
    control: GOOGLE_CONTROL,
  },
  pricedOptions: { service_tier: TIERS, web_search_options: {} },
  toolCalls: { needsSignature },
  reasoningState: 'signatures',
  messages: { order: 'alternating', takesReasoning: false },
  // pydantic/pydantic-ai, recorded 2025-06-02.
  usage: { countsReasoningInTotalAlone: true },
  errors: {
    account: [
      // github.com/google-gemini/gemini-cli/issues/25198 (2026-04-12), github.com/continuedev/continue/issues/11336 (2026-03-12).
      { is: 'credential', code: 'API_KEY_INVALID' },
      { is: 'credential', sentence: /^API key (?:not valid|not found|expired)\b/i },
      // No free tier where the router is: ai.google.dev/gemini-api/docs/troubleshooting, github.com/google-gemini/gemini-cli/issues/24641 (2026-04-03).
      { is: 'credential', sentence: /^User location is not supported for the API use\b/i },
    ],
    // One line for each (n4ze3m/page-assist#418, 2025-02-18).
    rejectedParameter: [/Invalid JSON payload received\. Unknown name "(\w+)": Cannot find field/],
    // agentjido/req_llm#971 (2026-08-23).
    rejectedEffort: [/Thinking level (?<value>\w+) is not supported for this model/],
  },
  finishReasons: GOOGLE_FINISH_REASONS,
}
