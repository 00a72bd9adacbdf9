/** Google's Gemini API, at its address that is compatible with OpenAI's. */

import { CHAT, rejectedByName, TIERS } from './openai.ts'
import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'

/** Gemini 3 and later reject a call without its signature, and no client but Google's own sends one back. */
export function needsSignature(model: string): boolean {
  return /(?:^|\/)gemini-(?:[3-9]|\d\d)/.test(model)
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
  },
  finishReasons: GOOGLE_FINISH_REASONS,
}
