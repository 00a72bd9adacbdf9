/** DeepSeek's own API. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const deepseek: VendorProfile = {
  name: 'deepseek',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: {},
  toolCalls: {},
  // It demands them before tool calls (QuantumNous/new-api#4806, 2026-05-12).
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
}
