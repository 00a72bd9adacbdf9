/** xAI's own API. */

import type { VendorProfile } from './profile.ts'
import { rejectedByName } from './openai.ts'

export const xai: VendorProfile = {
  name: 'xai',
  authentication: {},
  rejectedParameters: rejectedByName,
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: { search_parameters: {} },
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  // docs.x.ai/docs/key-information/consumption-and-rate-limits, by vercel/ai#12425, 2026-02-11.
  usage: { countsReasoningInTotalAlone: true },
}
