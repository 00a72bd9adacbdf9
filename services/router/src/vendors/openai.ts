/** OpenAI's own API. */

import { rejections, type ParameterSupport } from '../core/parameter-support.ts'
import type { IdRule } from '../core/tool-calls.ts'
import { callId } from '../core/tool-calls.ts'
import type { VendorProfile } from './profile.ts'

/** The types of `openai` 7.55 (2026): models that reason reject `max_tokens`, under whatever address. */
export function rejectedByName(model: string): ParameterSupport {
  return /^(?:openai[/.])?(?:gpt-(?:[5-9]|1\d)|o\d)(?![\da-z])/i.test(model) ? rejections('max_tokens') : []
}

/** OpenAI and Azure: Portkey-AI/gateway#1062 (2025-04-24), openclaw/openclaw#875 (2026-01-13). */
export const OPENAI_IDS: IdRule = { takes: /^.{1,40}$/s, write: callId }

export const openai: VendorProfile = {
  name: 'openai',
  authentication: {},
  // All of its chat models take `max_completion_tokens` (the types of `openai` 7.55, 2026).
  rejectedParameters: () => rejections('max_tokens'),
  toolCalls: { ids: OPENAI_IDS },
  messages: { order: 'any', takesReasoning: false },
  // `max_tool_calls` (the types of `openai` 7.55, 2026).
  hostedTools: ['responses'],
  usage: {},
}
