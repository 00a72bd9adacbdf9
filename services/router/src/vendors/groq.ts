/** Groq. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const groq: VendorProfile = {
  name: 'groq',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: { service_tier: { free: ['auto', 'on_demand'] } },
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
