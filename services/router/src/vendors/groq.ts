/** Groq. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const groq: VendorProfile = {
  name: 'groq',
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
