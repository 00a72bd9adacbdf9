/** Cohere, at its address that is compatible with OpenAI's. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const cohere: VendorProfile = {
  name: 'cohere',
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
