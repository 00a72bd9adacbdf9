/** Mistral's own API. */

import { rejections } from '../core/parameter-support.ts'
import type { VendorProfile } from './profile.ts'

export const mistral: VendorProfile = {
  name: 'mistral',
  authentication: {},
  // It rejects `max_completion_tokens` (editor-code-assistant/eca#231, 2025-12-12).
  rejectedParameters: () => rejections('max_completion_tokens'),
  // anomalyco/opencode#1680 (2025-08-07), nearai/ironclaw#1241 (2026-03-16).
  parameters: { chat: () => undefined, control: new Set() },
  pricedOptions: {},
  toolCalls: { ids: { takes: /^[A-Za-z0-9]{9}$/, write: (digest) => digest.slice(0, 9) } },
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
}
