/** A server of which nothing is known but its dialect. Open models behind it are likely. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const plain: VendorProfile = {
  name: null,
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  hostedTools: ['responses', 'messages'],
  usage: {},
}
