/** Groq. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const groq: VendorProfile = {
  name: 'groq',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: {
    service_tier: { free: ['auto', 'on_demand'] },
    // The tools of its compound systems: assumed.
    compound_custom: {},
    search_settings: {},
  },
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
