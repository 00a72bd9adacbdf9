/** LM Studio, run by the operator. */

import type { VendorProfile } from './profile.ts'
import { rejections } from '../core/parameter-support.ts'

export const lmStudio: VendorProfile = {
  name: 'lm-studio',
  authentication: {},
  // Its documents name `max_tokens` alone (lmstudio.ai/docs/api/openai-api, read in November 2026); that it ignores the
  // other name is assumed.
  rejectedParameters: () => rejections('max_completion_tokens'),
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  usage: {},
}
