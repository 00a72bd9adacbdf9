/** OpenRouter, an aggregator of vendors. */

import type { VendorProfile } from './profile.ts'
import { rejections } from '../core/parameter-support.ts'
import { rejectedByName } from './openai.ts'

export const openrouter: VendorProfile = {
  name: 'openrouter',
  authentication: {},
  // Its SDK's request has no `n` (`@openrouter/sdk` 1.3.19, 2026); that it answers one choice then is assumed.
  rejectedParameters: (model) => [...rejectedByName(model), ...rejections('n')],
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
}
