/** Anthropic, by its Messages API. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const anthropic: VendorProfile = {
  name: 'anthropic',
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
