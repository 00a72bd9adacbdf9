/** Cerebras. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const cerebras: VendorProfile = {
  name: 'cerebras',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: {},
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
