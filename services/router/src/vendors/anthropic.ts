/** Anthropic, by its Messages API. */

import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import { CHAT, rejectedByName } from './openai.ts'

/**
 * `MessageCreateParamsBase`, also of the betas, in the types of `@anthropic-ai/sdk` 1.12 (2026), and sampling, which the models
 * before Opus 4.7 take.
 */
export const MESSAGES = namesIn(
  'cache_control compaction context_management diagnostics inference_geo max_tokens messages metadata model output_config output_format service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p',
)
/**
 * Containers and threads keep data of former requests. The others choose whose account and whose limits a request has.
 */
const CONTROL = namesIn('betas billing_policy container fallback_credit_token thread user_profile_id workspace_id')

export const anthropic: VendorProfile = {
  name: 'anthropic',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => CHAT, messages: MESSAGES, control: CONTROL },
  pricedOptions: {
    service_tier: { free: ['auto', 'standard_only'] },
    speed: { free: ['standard'] },
    // platform.claude.com/docs/en/build-with-claude/data-residency: the other values cost a tenth more, 2026-11.
    inference_geo: { free: ['global'] },
    fallbacks: {},
    mcp_servers: {},
  },
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  // `max_uses` of each tool (the types of `@anthropic-ai/sdk` 1.12, 2026).
  hostedTools: ['messages'],
  usage: {},
  errors: {
    account: [
      // github.com/anthropics/claude-code/issues/72457 (2026-06-30).
      { is: 'credential', sentence: /^This organization has been disabled\b/i },
      // docs.anthropic.com/en/api/errors; the sentence with a 400 since 2024.
      { is: 'unpaid', sentence: /^Your credit balance is too low\b/i },
      { is: 'unpaid', sentence: /^You have reached your specified (?:API|workspace API) usage limits\b/i },
      // With a 429: learn.microsoft.com/microsoft-cloud/dev/dev-proxy/concepts/anthropic-529-overloaded-error, November 2026.
      { is: 'unpaid', code: 'enforced_spend_limit_reached' },
    ],
    // rocketride-org/rocketride-server#1194 (2026-06-09), Comfy-Org/ComfyUI#13923 (2026-05-16).
    rejectedParameter: [
      /[`'"]?(\w{1,64})[`'"]? is deprecated for this model/,
      /(\w{1,64}): Extra inputs are not permitted/,
    ],
    // anthropics/claude-code#58367, 2026-05-12.
    filtered: [/content filtering policy/],
  },
}
