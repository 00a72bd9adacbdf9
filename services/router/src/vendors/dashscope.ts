/** Alibaba's DashScope, at its address that is compatible with OpenAI's. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const dashscope: VendorProfile = {
  name: 'dashscope',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  // Its searches, which the gateway has no price for.
  pricedOptions: { enable_search: {}, search_options: {} },
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
