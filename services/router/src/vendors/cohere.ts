/** Cohere, at its address that is compatible with OpenAI's. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const cohere: VendorProfile = {
  name: 'cohere',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: {},
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
