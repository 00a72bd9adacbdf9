/** DeepInfra. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const deepinfra: VendorProfile = {
  name: 'deepinfra',
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
