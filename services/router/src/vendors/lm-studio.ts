/** LM Studio, run by the operator. */

import { namesIn } from '../core/strip-parameters.ts'
import { effortsByName, CHAT, TIERS } from './openai.ts'
import type { VendorProfile } from './profile.ts'
import { rejections } from '../core/parameter-support.ts'

/** LM Studio names these in its own settings: assumed. */
const LM_STUDIO_CHAT = new Set([...CHAT, 'min_p', 'repeat_penalty', 'top_k'])

export const lmStudio: VendorProfile = {
  name: 'lm-studio',
  authentication: {},
  // Its documents name `max_tokens` alone (lmstudio.ai/docs/api/openai-api, read in November 2026); that it ignores the
  // other name is assumed.
  rejectedParameters: () => rejections('max_completion_tokens'),
  efforts: effortsByName,
  parameters: { chat: () => LM_STUDIO_CHAT, control: namesIn('draft_model ttl') },
  // OpenAI's, which it ignores.
  pricedOptions: { service_tier: TIERS, web_search_options: {} },
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
}
