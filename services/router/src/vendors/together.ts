/** Together AI. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const together: VendorProfile = {
  name: 'together',
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
