/** Fireworks AI. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const fireworks: VendorProfile = {
  name: 'fireworks',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: {},
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
