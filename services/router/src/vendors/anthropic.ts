/** Anthropic, by its Messages API. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const anthropic: VendorProfile = {
  name: 'anthropic',
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  // `max_uses` of each tool (the types of `@anthropic-ai/sdk` 1.12, 2026).
  hostedTools: ['messages'],
  usage: {},
}
