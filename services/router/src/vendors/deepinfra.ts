/** DeepInfra. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const deepinfra: VendorProfile = {
  name: 'deepinfra',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: {},
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
