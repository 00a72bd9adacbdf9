/** Fireworks AI. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const fireworks: VendorProfile = {
  name: 'fireworks',
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
