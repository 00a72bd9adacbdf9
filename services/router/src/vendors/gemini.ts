/** Google's Gemini API, at its address that is compatible with OpenAI's. */

import { rejectedByName } from './openai.ts'
import type { VendorProfile } from './profile.ts'

/** Gemini 3 and later reject a call without its signature, and no client but Google's own sends one back. */
export function needsSignature(model: string): boolean {
  return /(?:^|\/)gemini-(?:[3-9]|\d\d)/.test(model)
}

export const gemini: VendorProfile = {
  name: 'gemini',
  authentication: {},
  rejectedParameters: rejectedByName,
  toolCalls: { needsSignature },
  messages: { order: 'alternating', takesReasoning: false },
  // pydantic/pydantic-ai, recorded 2025-06-02.
  usage: { countsReasoningInTotalAlone: true },
}
