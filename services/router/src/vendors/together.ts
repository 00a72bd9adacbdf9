/** Together AI. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const together: VendorProfile = {
  name: 'together',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: {},
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
