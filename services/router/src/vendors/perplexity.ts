/** Perplexity. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const perplexity: VendorProfile = {
  name: 'perplexity',
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
