/** Google's Vertex AI, at its address that is compatible with OpenAI's. */

import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import { geminiEfforts, GOOGLE_CONTROL, GOOGLE_FINISH_REASONS, GOOGLE_NESTED, needsSignature } from './gemini.ts'
import { CHAT, rejectedByName, TIERS } from './openai.ts'

/** cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview, of google/ models, 2026-09-17. */
const GOOGLE_CHAT = namesIn(
  'extra_body frequency_penalty function_call functions max_completion_tokens max_tokens messages modalities model n presence_penalty reasoning_effort response_format seed stop stream stream_options temperature tool_choice tools top_p',
)

export const vertex: VendorProfile = {
  name: 'vertex',
  authentication: {
    identity: {
      load: () => async () => (await import('../credentials/google.ts')).openCredential(),
      advice: 'set GOOGLE_APPLICATION_CREDENTIALS, or run this router under a service account',
    },
  },
  rejectedParameters: rejectedByName,
  efforts: geminiEfforts,
  parameters: {
    // The list is of Google's own models there.
    chat: (model) => (model.startsWith('google/') ? GOOGLE_CHAT : CHAT),
    nested: GOOGLE_NESTED,
    control: GOOGLE_CONTROL,
  },
  pricedOptions: { service_tier: TIERS, web_search_options: {} },
  toolCalls: { needsSignature },
  reasoningState: 'signatures',
  messages: { order: 'alternating', takesReasoning: false },
  // cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples, 2026-02-11.
  usage: { countsReasoningInTotalAlone: true },
  // With a 403: cloud.google.com/service-usage/docs/reference/rest/v1/ErrorReason, November 2026.
  errors: { account: [{ is: 'unpaid', code: 'BILLING_DISABLED' }] },
  finishReasons: GOOGLE_FINISH_REASONS,
}
