/** Hugging Face's router of inference providers. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const huggingface: VendorProfile = {
  name: 'huggingface',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: {},
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
