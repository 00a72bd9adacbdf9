/** Anthropic, by its Messages API. */

import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import { CHAT, effortsByName, rejectedByName } from './openai.ts'

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
  efforts: effortsByName,
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
      // anthropics/claude-code#30010, 2026-03-02.
      { is: 'reasoning_effort', sentence: /This model does not support the effort parameter/ },
      // NousResearch/hermes-agent#11137, 2026-04; a measurement of Opus 5.5 on Vertex AI, 2026-09-24.
      { is: 'thinking_budget', sentence: /"thinking\.type\.enabled" is not supported for this model/ },
      { is: 'thinking_off', sentence: /"thinking\.type\.(?:disabled|between_tools)" is not supported for this model/ },
      // Haiku 4.5, 2026-08-28.
      { is: 'adaptive_thinking', sentence: /adaptive thinking is not supported on this model/ },
      // The same measurement; Yeachan-Heo/gajae-code#480 (2026-06-10); CLIProxyAPI#4070 (2026-07-01).
      { is: 'forced_tools', sentence: /tool_choice: type "tool" and "any" are not supported for this model/ },
      { is: 'forced_tools', sentence: /tool_choice forces tool use is not compatible with this model/ },
      // Assumed.
      { is: 'structured_output', sentence: /'[\w.:@/~-]+' does not support output format/ },
    ],
    rejectedEffort: [
      // askalf/dario#491, 2026-06-10.
      /This model does not support effort level '(?<value>\w+)'\. Supported levels: (?<taken>[\w, ]+)/,
      // anthropics/claude-code#81084, 2026-07-25; with a list, of GitHub's: caozhiyuan/copilot-api#190, 2026-04-16.
      /output_config\.effort ['"](?<value>\w+)['"] is not supported (?:by|when)(?:.*supported values: \[(?<taken>[\w, ]+)\])?/,
    ],
    // anthropics/claude-code#58367, 2026-05-12.
    filtered: [/content filtering policy/],
  },
}
